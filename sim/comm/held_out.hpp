#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

// Selects measured rows that are left out of a fit and then compared with it, to judge its quality.
namespace pipewright::comm {

// Marks every other size of each curve as held out. Positions count from 0: `odd` holds out the
// second, fourth, .. size, `even` the first, third, .. Rows of the same size are held out together.
enum class HoldOut { odd, even, none };
std::vector<bool> held_out_rows(std::span<const analysis::Measurement> rows, HoldOut selection);

// Scheme for holding out rows: one or several parts, each held out from a fit to the remaining
// rows.
struct HoldOutScheme {
  std::string name;                      // "the upper half of sizes"
  std::vector<std::vector<bool>> parts;  // per part: whether each row is held out
  std::string unavailable;  // reason for having no parts: "all rows have the same operation"
};

// Schemes for judging a fit: every other size (interpolation), and the upper half of sizes of each
// curve, the largest number of ranks and each whole operation (extrapolation).
std::vector<HoldOutScheme> hold_out_schemes(std::span<const analysis::Measurement> rows);

// Schemes for which the rows suffice among those that test extrapolation, including one that holds
// out the lower half of sizes.
std::vector<HoldOutScheme> extrapolation_schemes(std::span<const analysis::Measurement> rows);

}  // namespace pipewright::comm
