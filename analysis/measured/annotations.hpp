#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/chrome_events.hpp"
#include "analysis/measured/launched_kernels.hpp"
#include "analysis/measured/pass_names.hpp"

namespace pipewright::analysis {

// Where events of a file stand: PyTorch marks a range on the CPU ("user_annotation") and again on
// each GPU stream that ran something which the same thread launched ("gpu_user_annotation").
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
  // When the CPU began it, where the times are those of its kernels.
  std::optional<double> launched_us;
};

// One "ProfilerStep#3": an iteration of the training loop.
struct MarkedStep {
  std::uint64_t number = 0;
  std::size_t lane = 0;
  double start_us = 0;
};

// When a receive that the CPU waits for ended ("gloo:recv").
struct MarkedReceive {
  std::string process;
  double end_us = 0;
};

// What a file has of annotations.
struct Annotations {
  std::filesystem::path file;
  ChromeHeader header;
  std::vector<Lane> lanes;
  std::vector<MarkedPass> passes;
  std::vector<MarkedStep> steps;
  std::vector<MarkedReceive> receives;
  bool has_launches = false;                   // calls that launch work of a GPU
  std::uint64_t idle_passes = 0;               // that launched no kernel, where others did
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
// Of lanes of passes that are timed by their kernels.
inline constexpr const char* kernel_category = "kernel";

// Throws trace::TraceError, of an event that marks a pass and has no sensible time too.
Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress = {});

// "'iteration 3' (12 times), ..." of the most frequent, for a message.
std::string frequent_names(const std::map<std::string, std::uint64_t>& counts, std::size_t most);

}  // namespace pipewright::analysis
