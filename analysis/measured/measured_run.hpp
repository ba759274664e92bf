#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/annotations.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

struct ImportOptions {
  std::optional<std::string> pattern;         // of names, as PassNames takes it
  std::optional<std::string> category;        // of events
  std::optional<std::uint32_t> microbatches;  // of an iteration, where names have no numbers
  std::optional<std::uint32_t> run;           // of several in one log, from 1
  std::uint32_t skip = 0;                     // iterations to warm up
  bool align = false;                         // shift clocks of devices that contradict each other
};

// A run as it was measured: rows of devices, stages and passes. What a profile does not know is 0
// or empty: when an input was sent and arrived, memory, transfers. Time 0 is the first pass's
// start.
struct MeasuredRun {
  trace::Trace trace;
  std::vector<std::string> notes;  // what was left out or looks wrong, a sentence each
  // The least seconds from a pass to the one on another device that needs its output.
  std::optional<double> handover_s;
};

// `engine` of a measured trace.
inline constexpr const char* measured_engine = "measured";

// Reads files that together are one run: one for each pipeline device, or one of all; of PyTorch's
// profiler, or where the first is so, of Primus. Throws trace::TraceError, PatternError.
MeasuredRun import_passes(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options = {}, const ReadProgress& progress = {});
MeasuredRun import_chrome(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options = {}, const ReadProgress& progress = {});

// The same from what was found in the files.
MeasuredRun combine(const std::vector<Annotations>& files, const ImportOptions& options);

}  // namespace pipewright::analysis
