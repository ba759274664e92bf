#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::comm {

// Two logs that measured the same operations, ranks and sizes but got different times, for example
// from different machines, library versions or days.
struct Disagreement {
  std::string faster;
  std::string slower;
  std::size_t rows = 0;  // rows that both logs have
  double ratio = 1;      // median ratio of the times of `slower` over those of `faster`; above 1
};

// Finds the pair of logs whose times differ by the largest ratio, if it exceeds the variation
// between repeated runs.
std::optional<Disagreement> find_disagreement(const std::vector<analysis::Measurement>& rows);

}  // namespace pipewright::comm
