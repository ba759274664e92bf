#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/operation.hpp"

namespace pipewright::analysis {

// One row of a benchmark's table, as measured.
struct Measurement {
  Operation operation = Operation::all_reduce;
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;  // that the ranks are spread over; 0: the log does not say
  std::uint64_t bytes = 0;
  double seconds = 0;  // of one operation, > 0
  bool in_place = false;
  std::string type;  // "float"; empty: the log does not say
  std::string file;
  int line = 0;  // in the file, from 1
};

// What a reader of logs did not like, and nevertheless went on.
struct LogRemark {
  std::string file;
  int line = 0;
  std::string text;
};

struct MeasurementLog {
  std::vector<Measurement> rows;  // in the order of the files
  std::vector<LogRemark> remarks;
};

// What logs leave unsaid, or say wrongly. Taken for all tables whose numbers allow it.
struct LogHints {
  std::optional<Operation> operation;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> nodes;
};

}  // namespace pipewright::analysis
