#include "sim/workload/batch/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/mix.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::workload {
namespace {

// Probability distribution on [1, upper] with a density proportional to x^-alpha.
class Density {
 public:
  Density(double alpha, double upper)
      : power_(1 - alpha), upper_(upper), range_(std::pow(upper, power_) - 1) {}
  double quantile(double share) const {
    constexpr double exponent_tolerance = 1e-9;
    return std::abs(power_) < exponent_tolerance ? std::pow(upper_, share)
                                                 : std::pow(range_ * share + 1, 1 / power_);
  }

 private:
  double power_;
  double upper_;
  double range_;
};

// Limits each of some shares, which sum to 1, to `limit`. The excess goes to the other shares in
// proportion to their size.
void cap_shares(double limit, std::vector<double>& shares) {
  for (bool changed = true; changed;) {
    double capped = 0;
    double rest = 0;
    for (const double share : shares)
      (share >= limit ? capped : rest) += share >= limit ? limit : share;
    if (rest <= 0) return;
    const double factor = (1 - capped) / rest;
    changed = false;
    for (double& share : shares) {
      changed = changed || (share < limit && share * factor > limit);
      share = share >= limit ? limit : share * factor;
    }
  }
}

// Standard deviation of the logarithm of an expert's share. The Gini coefficient of a log-normal
// distribution is erf(deviation / 2), which is 0.2 here.
constexpr double natural_deviation = 0.3583;

// Returns shares of experts in all visits, which sum to 1.
std::vector<double> drawn_shares(const RoutingLaw& law, std::uint64_t bits) {
  const Density density(law.alpha.value_or(0),
                        std::max(1.0, 0.8 * static_cast<double>(law.tokens)));
  std::vector<double> shares(law.experts);
  double sum = 0;
  for (std::uint32_t i = 0; i < law.experts; ++i) {
    const std::uint64_t own_bits = base::mix(bits + i);
    sum += shares[i] = law.alpha ? density.quantile(uniform(own_bits))
                                 : std::exp(natural_deviation * normal(own_bits));
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Gives the tokens of padding to `top_k` experts, of which every set is equally likely, and the
// rest of the tokens to all experts by their shares.
void add_padding(const RoutingLaw& law, std::uint64_t bits, std::vector<double>& shares) {
  std::uint32_t remaining = law.top_k;
  for (std::uint32_t i = 0; i < law.experts; ++i) {
    shares[i] *= 1 - law.padding;
    if (uniform(base::mix(~bits + i)) * (law.experts - i) >= remaining) continue;
    shares[i] += law.padding / law.top_k;
    --remaining;
  }
}

constexpr std::size_t ratio_count = 400;

// Returns the ratio of the busiest rank for each of `ratio_count` draws, sorted.
std::shared_ptr<const std::vector<double>> sorted_ratios(const RoutingLaw& law) {
  using Ratios = std::shared_ptr<const std::vector<double>>;
  thread_local std::vector<std::pair<RoutingLaw, Ratios>> cache;
  for (const auto& [cached_law, ratios] : cache)
    if (cached_law == law) return ratios;
  std::vector<double> ratios;
  for (std::size_t draw = 0; draw < ratio_count; ++draw)
    ratios.push_back(law.busiest(base::mix(draw)));
  std::ranges::sort(ratios);
  constexpr std::size_t capacity = 64;
  if (cache.size() == capacity) cache.erase(cache.begin());
  return cache.emplace_back(law, std::make_shared<const std::vector<double>>(std::move(ratios)))
      .second;
}

}  // namespace

double RoutingLaw::busiest(std::uint64_t bits) const {
  std::vector<double> shares = drawn_shares(*this, bits);
  cap_shares(1.0 / top_k, shares);
  if (padding > 0) add_padding(*this, bits, shares);
  if (capacity)
    for (double& share : shares) share = std::min(share, *capacity / experts);
  const std::uint32_t experts_per_rank = experts / ranks;
  double largest = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    double load = 0;
    for (std::uint32_t i = 0; i < experts_per_rank; ++i)
      load += shares[std::size_t{rank} * experts_per_rank + i];
    largest = std::max(largest, load);
  }
  return std::max(1.0, largest * ranks);
}

Imbalance imbalance_of(const RoutingLaw& law) {
  const auto ratios = sorted_ratios(law);
  const double sum = std::accumulate(ratios->begin(), ratios->end(), 0.0);
  return {.mean = sum / ratio_count, .p95 = (*ratios)[ratio_count * 95 / 100]};
}

double ExpertLoads::at(std::uint32_t layer, std::uint32_t microbatch) const {
  return (*ratios)[base::mix(base::mix(seed ^ layer) ^ microbatch) % ratios->size()];
}

ExpertLoads expert_loads(const RoutingLaw& law, std::uint32_t seed) {
  return {.ratios = sorted_ratios(law), .seed = base::mix(seed)};
}

}  // namespace pipewright::workload
