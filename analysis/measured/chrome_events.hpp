#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analysis/measured/files/input_file.hpp"

// Reads trace events as Chrome, Perfetto and PyTorch's profiler (Kineto) write them: JSON with an
// object that has "traceEvents", or with the array alone. Events are read one by one, so memory
// does not grow with the file.
namespace pipewright::analysis {

// Fields of an event that tell when it ran; other fields are ignored.
struct ChromeEvent {
  std::string name;
  std::string category;
  std::string phase;    // "X" marks events with a duration.
  std::string process;  // pid and tid; numbers become text.
  std::string thread;
  std::optional<double> start;  // Microseconds; no value if the field is missing or not a number.
  std::optional<double> duration;
  // Fields of "args": the number that a launch shares with its kernels, and the pass of a file
  // exported by pipewright.
  std::optional<std::uint64_t> correlation;
  std::optional<std::uint64_t> stage;
  std::optional<std::uint64_t> microbatch;
};

// Properties that a trace file states apart from its events.
struct ChromeHeader {
  std::optional<std::uint32_t> rank;  // distributedInfo.rank
  std::string backend;                // distributedInfo.backend, such as "nccl".
  // Microbatches of an iteration, if pipewright exported the file (otherData.microbatches).
  std::optional<std::uint32_t> microbatches;
  std::int64_t base_ns = 0;  // Origin of the times (baseTimeNanoseconds).
};

// Function that is called for each event. `location` returns the position of the event's end in the
// file, "t.json: line 3, byte 90".
using VisitEvent =
    std::function<void(const ChromeEvent& event, const std::function<std::string()>& location)>;

// Reads a file of trace events. Throws trace::TraceError with line and byte if it is not valid:
// incomplete, with NaN, or nested too deeply.
ChromeHeader read_chrome_events(const std::filesystem::path& path, const VisitEvent& visit,
                                const ReadProgress& progress = {});

}  // namespace pipewright::analysis
