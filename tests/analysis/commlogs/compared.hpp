#pragma once

#include "analysis/commlogs/comparison.hpp"

namespace pipewright::test {

// Returns the measured and the predicted time, both given in microseconds, of one all-reduce over
// 16 ranks on 2 nodes.
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
  return {
      .measured = row, .predicted = predicted / 1e6, .method = "ring, LL128", .held_out = false};
}

}  // namespace pipewright::test
