#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/chrome_events.hpp"
#include "analysis/import/pass_names.hpp"

namespace pipewright::analysis {

// Where events of a file stand: PyTorch marks a range on the CPU ("user_annotation") and again on
// each GPU stream that ran something for it ("gpu_user_annotation").
struct Lane {
  std::string category;
  std::string process;
  std::string thread;

  auto operator<=>(const Lane&) const = default;
};

// One annotation that marks a pass, or a fused forward and backward.
struct MarkedPass {
  std::vector<NamedPass> passes;
  std::size_t lane = 0;
  double start_us = 0;
  double end_us = 0;
};

// One "ProfilerStep#3": an iteration of the training loop.
struct MarkedStep {
  std::uint64_t number = 0;
  std::size_t lane = 0;
  double start_us = 0;
};

// What a file has of annotations.
struct Annotations {
  std::filesystem::path file;
  ChromeHeader header;
  std::vector<Lane> lanes;
  std::vector<MarkedPass> passes;
  std::vector<MarkedStep> steps;
  std::map<std::string, std::uint64_t> names;  // how many events have a name, of the first so many
  std::map<std::string, std::uint64_t> categories;  // of events that were passed over
  std::uint64_t events = 0;
};

struct AnnotationOptions {
  PassNames names;
  // Only events of this category; else annotations, or with a pattern of the user's whatever fits.
  std::optional<std::string> category;
  bool any_category = false;
};

inline constexpr const char* gpu_category = "gpu_user_annotation";
inline constexpr const char* cpu_category = "user_annotation";

// Throws trace::TraceError, of an event that marks a pass and has no sensible time too.
Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress = {});

// "'iteration 3' (12 times), ..." of the most frequent, for a message.
std::string frequent_names(const std::map<std::string, std::uint64_t>& counts, std::size_t most);

// The annotations of one pipeline device, of one lane of its.
struct MarkedDevice {
  std::string name;                // "rank 8"
  std::vector<MarkedPass> passes;  // by start
  std::vector<MarkedStep> steps;   // likewise
};

// Which annotations are of which device: those of a file with a rank are of that rank, else of the
// process; a pattern's group stands above both. Ranks are in order. Where a device has annotations
// of the GPU, those of the CPU, which only say when work was launched, are left out. Throws
// trace::TraceError where two files are of one rank.
std::vector<MarkedDevice> devices_of(const std::vector<Annotations>& files);

}  // namespace pipewright::analysis
