#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/operation.hpp"

namespace pipewright::analysis {

// One measured row of a benchmark's table.
struct Measurement {
  Operation operation = Operation::all_reduce;
  std::uint32_t ranks = 0;
  // Number of nodes that the ranks are spread over; 0 if the log does not say.
  std::uint32_t nodes = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  // Time of one operation, above 0.
  bool in_place = false;
  std::string type;  // "float"; empty if the log does not say.
  std::string file;
  int line = 0;  // Line of the file, counted from 1.
};

// A problem or an assumption that a log reader reports without stopping.
struct LogRemark {
  std::string file;
  int line = 0;
  std::string text;
};

// A kind of GPU that the measured ranks of a file ran on, as the driver names it: "NVIDIA H100 80GB
// HBM3".
struct LoggedGpu {
  std::string name;
  std::string file;
  int line = 0;  // Line of the first table with such ranks.
};

struct MeasurementLog {
  std::vector<Measurement> rows;  // In the order of the files.
  std::vector<LoggedGpu> gpus;    // Each kind of a file once.
  std::vector<LogRemark> remarks;
};

// Facts that logs omit or get wrong. A hint applies to every table whose numbers allow it.
struct LogHints {
  std::optional<Operation> operation;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> nodes;
};

}  // namespace pipewright::analysis
