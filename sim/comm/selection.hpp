#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/comm/least_squares.hpp"

namespace pipewright::comm {

// Function that returns the residual of each measurement, log(predicted / measured), for a model
// with these values of the chosen candidates and the starting values of all others.
using ChoiceResiduals = std::function<std::vector<double>(std::span<const std::size_t> chosen,
                                                          std::span<const double> values)>;

struct Selection {
  std::vector<std::size_t> chosen;  // candidates, ascending
  LeastSquares fit;                 // fit of the chosen candidates
  // Akaike's criterion up to a constant, on left-out rows; lower is better. Infinite if the
  // selection is worse than the empty one in an extrapolation scheme.
  double score = 0;
  // Factor on the weights of the candidates' priors; below 1 if rows scatter so little that the
  // default weights would bias the fit.
  double prior_factor = 1;
};

// Parts of the rows that are held out in turn: per part, whether each row is held out.
using HoldOutParts = std::vector<std::vector<bool>>;

struct SelectionOptions {
  std::size_t max_parameters = 5;  // limit for the number of chosen candidates
  // Schemes that test extrapolation. A selection that is worse than the empty one in any of them is
  // rejected.
  std::vector<HoldOutParts> extrapolations = {};
  std::function<void(double share)> progress = {};  // may throw to cancel
};

// Chooses the candidates that explain the measurements, without overfitting. A beam search starts
// with the empty selection, extends the best few selections by each candidate, and keeps the best
// few results, so that it finds candidates that help only in combination and drops substitutes. Of
// all numbers of candidates, it takes the smallest beyond which predictions of left-out rows do not
// improve clearly.
Selection select(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const SelectionOptions& options);

// Repeats the fit of a selection from several starting points around its values and returns the
// best.
Selection refine(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const Selection& selection);

// Fits the chosen candidates, without a search for others.
Selection fit_chosen(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                     std::vector<std::size_t> chosen);

}  // namespace pipewright::comm
