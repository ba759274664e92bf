#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analysis/measured/files/input_file.hpp"

// Trace events as Chrome, Perfetto and PyTorch's profiler (Kineto) write them: JSON, an object with
// "traceEvents" or the array alone. Read event by event, in memory that does not grow with the
// file.
namespace pipewright::analysis {

// The fields that say when something ran; others are passed over.
struct ChromeEvent {
  std::string name;
  std::string category;
  std::string phase;    // "X" has a duration
  std::string process;  // pid and tid, numbers as text
  std::string thread;
  std::optional<double> start;  // microseconds; empty: not there, or no number
  std::optional<double> duration;
  // Of its args: what a launch shares with its kernels, and the pass of pipewright's own export.
  std::optional<std::uint64_t> correlation;
  std::optional<std::uint64_t> stage;
  std::optional<std::uint64_t> microbatch;
};

// What the file says of itself beside its events.
struct ChromeHeader {
  std::optional<std::uint32_t> rank;  // distributedInfo.rank
  std::string backend;                // distributedInfo.backend, such as nccl
  // Of an iteration, where pipewright exported the file (otherData.microbatches).
  std::optional<std::uint32_t> microbatches;
  std::int64_t base_ns = 0;  // what times count from (baseTimeNanoseconds)
};

// Calls `visit` for each event; `place` tells where it ends in the file, "t.json: line 3, byte 90".
using VisitEvent =
    std::function<void(const ChromeEvent& event, const std::function<std::string()>& place)>;

// Throws trace::TraceError with line and byte where the text is no such JSON: cut short, NaN,
// nested beyond reason.
ChromeHeader read_chrome_events(const std::filesystem::path& path, const VisitEvent& visit,
                                const ReadProgress& progress = {});

}  // namespace pipewright::analysis
