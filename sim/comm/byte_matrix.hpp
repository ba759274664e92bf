#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/bench_report.hpp"

namespace pipewright::comm {

inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50U;  // of an operation

// What each rank has for each in an all-to-all-v: a row for each sender, with a cell for each
// receiver. What a rank has for itself (the diagonal) counts to what it has, and goes over no link.
struct ByteMatrix {
  std::string name;  // of the file
  std::uint32_t ranks = 0;
  std::vector<std::uint64_t> bytes;  // row by row

  std::uint64_t most_in_row() const;  // bytes that the rank with most has
  std::vector<double> parts() const;  // of most_in_row()
};

// Of a .csv file of whole numbers, where empty lines and those that begin with # do not count, or a
// .json list of lists. Throws config::Error, "FILE:LINE: what", of what is no such matrix.
ByteMatrix read_byte_matrix(const std::string& file);

// Of the ranks that send or receive most, without what stays where it is, the first.
analysis::BusiestRank busiest_rank(const ByteMatrix& matrix);

}  // namespace pipewright::comm
