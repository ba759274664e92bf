#pragma once

#include "analysis/commlogs/comparison.hpp"

namespace pipewright::test {

// A row of an all-reduce on 16 ranks of 2 nodes; times in microseconds.
inline analysis::ComparedRow compared(std::uint64_t bytes, double measured, double predicted) {
  analysis::Measurement row;
  row.operation = analysis::Operation::all_reduce;
  row.ranks = 16;
  row.nodes = 2;
  row.bytes = bytes;
  row.seconds = measured / 1e6;
  row.type = "float";
  row.file = "some.log";
  row.line = 7;
  return {.measured = row, .predicted = predicted / 1e6, .by = "ring, LL128", .held_out = false};
}

}  // namespace pipewright::test
