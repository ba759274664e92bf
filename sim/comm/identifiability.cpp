#include "sim/comm/identifiability.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::comm {
namespace {

constexpr double alike = 0.95;  // correlation

std::vector<double> column(const Matrix& jacobian, std::size_t index) {
  std::vector<double> values(jacobian.rows);
  for (std::size_t row = 0; row < jacobian.rows; ++row) values[row] = jacobian.at(row, index);
  return values;
}

// By the weights of a fit's rows.
class Product {
 public:
  explicit Product(std::span<const double> weights) : weights_(weights) {}

  double of(std::span<const double> a, std::span<const double> b) const {
    double sum = 0;
    for (std::size_t row = 0; row < a.size(); ++row) sum += weights_[row] * a[row] * b[row];
    return sum;
  }
  double length(std::span<const double> a) const { return std::sqrt(of(a, a)); }

 private:
  std::span<const double> weights_;
};

// How residuals change with a candidate that was not chosen, where the chosen ones are best.
std::vector<double> change(const ChoiceResiduals& residuals, const Unknown& unknown,
                           std::size_t candidate, const Selection& selection) {
  std::vector<std::size_t> chosen = selection.chosen;
  std::vector<double> values = selection.fit.unknowns;
  chosen.push_back(candidate);
  constexpr double step = 1e-4;
  const double sign = unknown.start + step > unknown.most ? -1 : 1;
  values.push_back(unknown.start + sign * step);
  std::vector<double> there = residuals(chosen, values);
  for (std::size_t row = 0; row < there.size(); ++row)
    there[row] = sign * (there[row] - selection.fit.residuals[row]) / step;
  return there;
}

}  // namespace

std::vector<IndistinctPair> indistinct(const Selection& selection) {
  std::vector<IndistinctPair> pairs;
  if (selection.chosen.empty() || !std::isfinite(selection.fit.deviation())) return pairs;
  const Matrix of_errors = correlations(selection.fit.covariance());
  for (std::size_t i = 0; i < selection.chosen.size(); ++i)
    for (std::size_t j = i + 1; j < selection.chosen.size(); ++j)
      if (std::abs(of_errors.at(i, j)) > alike)
        pairs.push_back({selection.chosen[i], selection.chosen[j], of_errors.at(i, j)});
  return pairs;
}

std::vector<Unchosen> look_at_unchosen(const ChoiceResiduals& residuals,
                                       std::span<const Unknown> candidates,
                                       const Selection& selection) {
  const Product product(selection.fit.weights);
  const Matrix& jacobian = selection.fit.jacobian;
  const double scatter = std::max(median_deviation(selection.fit), 1e-3);
  std::vector<Unchosen> found;
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    if (std::ranges::binary_search(selection.chosen, candidate)) continue;
    Unchosen one{candidate, analysis::KeptBecause::no_gain, {}};
    const std::vector<double> of = change(residuals, candidates[candidate], candidate, selection);
    const double length = product.length(of);
    if (length < scatter) {
      one.why = analysis::KeptBecause::no_trace;
      found.push_back(one);
      continue;
    }
    // The part of it that no chosen ones together make up, and which of them comes nearest.
    std::vector<double> products;
    double nearest = 0;
    for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
      const std::vector<double> other = column(jacobian, i);
      products.push_back(product.of(of, other));
      const double cosine = std::abs(products.back()) / (length * product.length(other) + 1e-300);
      if (cosine <= nearest) continue;
      nearest = cosine;
      one.like = selection.chosen[i];
    }
    double made_up = 0;
    if (!products.empty()) {
      const std::vector<double> parts =
          solve(normal_matrix(jacobian, selection.fit.weights), products);
      for (std::size_t i = 0; i < parts.size(); ++i) made_up += parts[i] * products[i];
    }
    if (made_up > alike * alike * length * length)
      one.why = analysis::KeptBecause::likeness;
    else
      one.like.reset();
    found.push_back(one);
  }
  return found;
}

double median_deviation(const LeastSquares& fit) {
  std::vector<double> sizes;
  for (const double residual : fit.residuals) sizes.push_back(std::abs(residual));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  const auto rows = static_cast<double>(sizes.size());
  const double freedom = std::max(rows - static_cast<double>(fit.unknowns.size()), 1.0);
  constexpr double of_normal = 1.4826;
  return of_normal * *middle * std::sqrt(rows / freedom);
}

}  // namespace pipewright::comm
