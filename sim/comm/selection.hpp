#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/comm/least_squares.hpp"

namespace pipewright::comm {

// What a model that has these of all candidates at these values, and the others where they start,
// misses each measurement by: log(predicted / measured).
using ChoiceResiduals = std::function<std::vector<double>(std::span<const std::size_t> chosen,
                                                          std::span<const double> values)>;

struct Selection {
  std::vector<std::size_t> chosen;  // candidates, ascending
  LeastSquares fit;                 // of these
  // Akaike's criterion but for a constant, with rows left out: less is better. Infinite of what is
  // worse than nothing in a way that goes beyond the rows.
  double score = 0;
  // Times the candidates' pulls: less than 1 where rows scatter so little that they bias nothing.
  double pull = 1;
};

// Rows that are left out together, of each part in turn; and all ways in which they are.
using LeftOut = std::vector<std::vector<bool>>;

struct SelectionOptions {
  std::size_t most = 5;  // candidates to choose
  // Ways that go beyond the rows that are left. No choice is taken that is worse in one of them
  // than to choose nothing.
  std::vector<LeftOut> beyond = {};
  std::function<void(double share)> progress = {};  // may throw, to end it
};

// Chooses the candidates that explain the measurements, and no more of them than those can tell:
// starting with none, extends the best few choices by each candidate in turn and keeps the best few
// of what comes out (a beam search, so that two that help only together are found, and one that
// stood in for them is not kept). Of all sizes it takes the smallest from which on predictions of
// left-out rows do not get clearly better.
Selection select(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const SelectionOptions& options);

// The best of starts around the values of a selection.
Selection refine(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const Selection& selection);

// Of exactly these.
Selection fit_chosen(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                     std::vector<std::size_t> chosen);

}  // namespace pipewright::comm
