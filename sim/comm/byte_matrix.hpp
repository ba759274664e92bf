#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/bench_report.hpp"

namespace pipewright::comm {

inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 50U;  // limit for an operation

// Bytes that each rank sends to each other rank in an all-to-all-v: one row per sender, one cell
// per receiver. The diagonal, which stays on the rank, counts toward the rank's total but crosses
// no link.
struct ByteMatrix {
  std::string name;  // name of the file
  std::uint32_t ranks = 0;
  std::vector<std::uint64_t> bytes;  // row by row

  std::uint64_t max_row_bytes() const;  // largest sum of a row
  std::vector<double> parts() const;    // each cell as a fraction of max_row_bytes()
};

// Reads a .csv file of whole numbers, which may have empty lines and comments that begin with #, or
// a .json list of lists. Throws config::Error "FILE:LINE: message" if the file is not such a
// matrix.
ByteMatrix read_byte_matrix(const std::string& file);

// Returns the rank that sends or receives the most bytes to or from other ranks; the first if there
// are several.
analysis::BusiestRank busiest_rank(const ByteMatrix& matrix);

}  // namespace pipewright::comm
