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
  std::optional<std::string> pattern;   // Pattern of names, for PassNames.
  std::optional<std::string> category;  // Category of events.
  // Number of microbatches per iteration; needed if names of passes contain no microbatch numbers.
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t>
      run;  // Number of the run in a log with several runs, counted from 1.
  // Number of warm-up iterations to leave out. Not given: none of a profile; of a log, those before
  // its steady state.
  std::optional<std::uint32_t> skip;
  bool align = false;  // Shift the clocks of devices that contradict each other.
};

// A measured run: rows of devices, stages and passes. Values that a profile does not contain are 0
// or empty: the times when an input was sent and arrived, memory, transfers. Time 0 is the start of
// the first pass.
struct MeasuredRun {
  trace::Trace trace;
  std::vector<std::string> notes;  // Sentences about parts that were left out or look wrong.
  // Shortest time, in seconds, from the end of a pass to the start of the pass on another device
  // that needs its output.
  std::optional<double> handover_s;
};

// Value of the trace attribute `engine` that marks a run as measured, not simulated.
inline constexpr const char* measured_engine = "measured";

// Reads the files of one run: one file per pipeline device, or a single file. The files come from
// PyTorch's profiler or, if the first one does, from Primus. Throws trace::TraceError and
// PatternError.
MeasuredRun import_passes(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options = {}, const ReadProgress& progress = {});
MeasuredRun import_chrome(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options = {}, const ReadProgress& progress = {});

// Builds a run from annotations that were read before.
MeasuredRun combine(const std::vector<Annotations>& files, const ImportOptions& options);

}  // namespace pipewright::analysis
