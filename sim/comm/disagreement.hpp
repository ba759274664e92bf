#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::comm {

// Two logs that measured the same operations on as many ranks with the same sizes, and took unlike
// times: those of two machines, versions of a library or days.
struct Disagreement {
  std::string one;
  std::string other;
  std::size_t rows = 0;  // that both have
  double ratio = 1;      // the other's times over those of one, at the median of these; above 1
};

// The worst of those that differ by more than repeated runs do; none where logs agree.
std::optional<Disagreement> disagreement(const std::vector<analysis::Measurement>& rows);

}  // namespace pipewright::comm
