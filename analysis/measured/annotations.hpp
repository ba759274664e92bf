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

// A row of events in a trace viewer: one thread or GPU stream. PyTorch marks a range on the CPU
// ("user_annotation") and again on each GPU stream that ran work launched by the same thread
// ("gpu_user_annotation").
struct Lane {
  std::string category;
  std::string process;
  std::string thread;

  auto operator<=>(const Lane&) const = default;
};

// An annotation that marks a pass, or a fused forward and backward pass.
struct MarkedPass {
  std::vector<NamedPass> passes;
  std::size_t lane = 0;
  double start_us = 0;
  double end_us = 0;
  // Start of the pass on the CPU; set if start_us and end_us are the times of its kernels.
  std::optional<double> launched_us;
};

// A mark such as "ProfilerStep#3": an iteration of the training loop.
struct MarkedStep {
  std::uint64_t number = 0;
  std::size_t lane = 0;
  double start_us = 0;
};

// End of a receive that the CPU waited for ("gloo:recv").
struct MarkedReceive {
  std::string process;
  double end_us = 0;
};

// Everything read from one file: passes, steps and receives, and counts for error messages.
struct Annotations {
  std::filesystem::path file;
  ChromeHeader header;
  std::vector<Lane> lanes;
  std::vector<MarkedPass> passes;
  std::vector<MarkedStep> steps;
  std::vector<MarkedReceive> receives;
  bool has_launches = false;  // The file has calls that launch GPU work.
  // Number of passes that launched no kernels, in lanes whose other passes launched some.
  std::uint64_t idle_passes = 0;
  // Number of events with each name; holds only the first few thousand names.
  std::map<std::string, std::uint64_t> names;
  std::map<std::string, std::uint64_t> categories;  // Number of ignored events by category.
  std::uint64_t events = 0;
};

struct AnnotationOptions {
  PassNames names;
  // Category of the events whose names may mark passes. By default these are the annotations, or
  // all events if the user gives a pattern.
  std::optional<std::string> category;
  bool any_category = false;
};

inline constexpr const char* gpu_category = "gpu_user_annotation";
inline constexpr const char* cpu_category = "user_annotation";
// Category of the added lanes in which passes have the times of their kernels.
inline constexpr const char* kernel_category = "kernel";

// Reads the annotations of a file. Throws trace::TraceError, also if an event that marks a pass has
// no valid time.
Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress = {});

// Lists the most frequent names for a message: "'iteration 3' (12 times), ...".
std::string frequent_names(const std::map<std::string, std::uint64_t>& counts,
                           std::size_t max_names);

}  // namespace pipewright::analysis
