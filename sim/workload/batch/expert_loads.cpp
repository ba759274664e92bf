#include "sim/workload/batch/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

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

}  // namespace

double PowerLaw::busiest(std::uint64_t bits) const {
  const Density density(alpha, std::max(1.0, 0.8 * static_cast<double>(tokens)));
  std::vector<double> shares(experts);
  double sum = 0;
  for (std::uint32_t i = 0; i < experts; ++i)
    sum += shares[i] = density.quantile(uniform(base::mix(bits + i)));
  for (double& share : shares) share /= sum;
  cap_shares(1.0 / top_k, shares);
  const std::uint32_t experts_per_rank = experts / ranks;
  double largest = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    double load = 0;
    for (std::uint32_t i = 0; i < experts_per_rank; ++i)
      load += shares[std::size_t{rank} * experts_per_rank + i];
    largest = std::max(largest, load);
  }
  return largest * ranks;
}

Imbalance imbalance_of(const PowerLaw& law) {
  thread_local std::vector<std::pair<PowerLaw, Imbalance>> cache;
  for (const auto& [cached_law, imbalance] : cache)
    if (cached_law == law) return imbalance;
  constexpr std::size_t draws = 400;
  std::vector<double> ratios;
  for (std::size_t draw = 0; draw < draws; ++draw) ratios.push_back(law.busiest(base::mix(draw)));
  std::ranges::sort(ratios);
  Imbalance imbalance{.mean = 0, .p95 = ratios[draws * 95 / 100]};
  for (const double ratio : ratios) imbalance.mean += ratio / draws;
  constexpr std::size_t capacity = 64;
  if (cache.size() == capacity) cache.erase(cache.begin());
  cache.emplace_back(law, imbalance);
  return imbalance;
}

std::shared_ptr<const ExpertLoads> expert_loads(const PowerLaw& law, std::uint32_t layers,
                                                std::uint32_t microbatches, std::uint32_t seed) {
  using Key = std::tuple<PowerLaw, std::uint32_t, std::uint32_t, std::uint32_t>;
  thread_local std::vector<std::pair<Key, std::shared_ptr<const ExpertLoads>>> cache;
  const Key key{law, layers, microbatches, seed};
  for (const auto& [cached_key, loads] : cache)
    if (cached_key == key) return loads;
  ExpertLoads loads{.microbatches = microbatches, .values = {}};
  const std::uint64_t root = base::mix(seed);
  for (std::uint64_t layer = 0; layer < layers; ++layer)
    for (std::uint64_t microbatch = 0; microbatch < microbatches; ++microbatch)
      loads.values.push_back(law.busiest(base::mix(base::mix(root ^ layer) ^ microbatch)));
  constexpr std::size_t capacity = 8;
  if (cache.size() == capacity) cache.erase(cache.begin());
  return cache.emplace_back(key, std::make_shared<const ExpertLoads>(std::move(loads))).second;
}

}  // namespace pipewright::workload
