#include "sim/workload/batch/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/workload/batch/random.hpp"

namespace pipewright::workload {
namespace {

// Quantiles of the density x^-alpha from 1 to `most`.
class Density {
 public:
  Density(double alpha, double most)
      : power_(1 - alpha), most_(most), range_(std::pow(most, power_) - 1) {}
  double quantile(double share) const {
    constexpr double logarithmic = 1e-9;
    return std::abs(power_) < logarithmic ? std::pow(most_, share)
                                          : std::pow(range_ * share + 1, 1 / power_);
  }

 private:
  double power_;
  double most_;
  double range_;
};

// Shares of 1, none above `most`: what is above goes to the others in proportion.
void cap(double most, std::vector<double>& shares) {
  for (bool changed = true; changed;) {
    double capped = 0;
    double rest = 0;
    for (const double share : shares)
      (share >= most ? capped : rest) += share >= most ? most : share;
    if (rest <= 0) return;
    const double factor = (1 - capped) / rest;
    changed = false;
    for (double& share : shares) {
      changed = changed || (share < most && share * factor > most);
      share = share >= most ? most : share * factor;
    }
  }
}

}  // namespace

double PowerLaw::busiest(std::uint64_t bits) const {
  const Density density(alpha, std::max(1.0, 0.8 * static_cast<double>(tokens)));
  std::vector<double> shares(experts);
  double sum = 0;
  for (std::uint32_t i = 0; i < experts; ++i)
    sum += shares[i] = density.quantile(uniform(mix(bits + i)));
  for (double& share : shares) share /= sum;
  cap(1.0 / top_k, shares);
  const std::uint32_t each = experts / ranks;
  double largest = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    double own = 0;
    for (std::uint32_t i = 0; i < each; ++i) own += shares[std::size_t{rank} * each + i];
    largest = std::max(largest, own);
  }
  return largest * ranks;
}

Imbalance imbalance_of(const PowerLaw& law) {
  thread_local std::vector<std::pair<PowerLaw, Imbalance>> known;
  for (const auto& [of, imbalance] : known)
    if (of == law) return imbalance;
  constexpr std::size_t draws = 400;
  std::vector<double> all;
  for (std::size_t draw = 0; draw < draws; ++draw) all.push_back(law.busiest(mix(draw)));
  std::ranges::sort(all);
  Imbalance imbalance{.mean = 0, .p95 = all[draws * 95 / 100]};
  for (const double one : all) imbalance.mean += one / draws;
  constexpr std::size_t kept = 64;
  if (known.size() == kept) known.erase(known.begin());
  known.emplace_back(law, imbalance);
  return imbalance;
}

std::shared_ptr<const ExpertLoads> expert_loads(const PowerLaw& law, std::uint32_t layers,
                                                std::uint32_t microbatches, std::uint32_t seed) {
  using Key = std::tuple<PowerLaw, std::uint32_t, std::uint32_t, std::uint32_t>;
  thread_local std::vector<std::pair<Key, std::shared_ptr<const ExpertLoads>>> known;
  const Key key{law, layers, microbatches, seed};
  for (const auto& [of, loads] : known)
    if (of == key) return loads;
  ExpertLoads loads{.microbatches = microbatches, .all = {}};
  const std::uint64_t root = mix(seed);
  for (std::uint64_t layer = 0; layer < layers; ++layer)
    for (std::uint64_t microbatch = 0; microbatch < microbatches; ++microbatch)
      loads.all.push_back(law.busiest(mix(mix(root ^ layer) ^ microbatch)));
  constexpr std::size_t kept = 8;
  if (known.size() == kept) known.erase(known.begin());
  return known.emplace_back(key, std::make_shared<const ExpertLoads>(std::move(loads))).second;
}

}  // namespace pipewright::workload
