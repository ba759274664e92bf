#include "sim/sweep/enumerator.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/mix.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

using Products = std::unordered_set<std::uint64_t>;

// Returns the products of parallel sizes before an axis that one of the axis's values turns into a
// product of `after`.
Products products_before(const SweepAxis& axis, const std::vector<std::uint32_t>& values,
                         const Products& after) {
  std::unordered_set<std::uint64_t> factors;
  for (const std::uint32_t value : values) factors.insert(axis.values[value].gpus);
  Products result;
  for (const std::uint64_t product : after)
    for (const std::uint64_t factor : factors)
      if (factor != 0 && product % factor == 0) result.insert(product / factor);
  return result;
}

}  // namespace

GpuProducts::GpuProducts(const Domain& domain,
                         const std::vector<std::vector<std::uint32_t>>& values) {
  const std::vector<SweepAxis>& open = domain.open();
  for (const std::vector<std::uint64_t>& allowed : domain.allowed_gpus) {
    std::vector<Products> by_depth(open.size() + 1);
    by_depth.back() = {allowed.begin(), allowed.end()};
    for (std::size_t i = open.size(); i-- > 0;)
      by_depth[i] = products_before(open[i], values[i], by_depth[i + 1]);
    reachable_.push_back(std::move(by_depth));
  }
}

Enumerator::Enumerator(const Domain& domain, std::vector<bool> active)
    : domain_(domain), active_(std::move(active)), names_(domain.names.values()) {
  if (active_.empty()) active_.assign(domain.rules.size(), true);
  excluded_.resize(domain.rules.size());
  for (const SweepAxis& axis : domain.open()) {
    std::vector<std::uint32_t> values(axis.values.size());
    std::iota(values.begin(), values.end(), 0U);
    values_.push_back(std::move(values));
  }
  apply_rules_of_single_axes();
  prepare();
}

// Removes the values of axes that a rule excludes on its own because it depends on no other axis,
// so that no enumeration tries them.
void Enumerator::apply_rules_of_single_axes() {
  const auto combinations_without = [&](std::size_t axis) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (i != axis) product *= values_[i].size();
    return product;
  };
  const std::size_t no_axis = values_.size();
  for (std::size_t rule = 0; rule < domain_.rules.size(); ++rule) {
    const std::vector<std::size_t>& axes = domain_.rules[rule].axes;
    if (!active_[rule] || axes.size() > 1 || (is_gpu_rule(rule) && !axes.empty())) continue;
    const std::size_t axis = axes.empty() ? no_axis : axes.front();
    active_[rule] = false;
    if (axes.empty()) {
      const bool is_met = is_gpu_rule(rule)
                              ? std::ranges::count(domain_.allowed_gpus.front(), domain_.fixed_gpus)
                              : holds(rule);
      if (is_met) continue;
      excluded_[rule] += combinations_without(no_axis);
      for (auto& values : values_) values.clear();
    } else {
      const std::size_t removed = std::erase_if(values_[axis], [&](std::uint32_t value) {
        set(axis, value);
        return !holds(rule);
      });
      excluded_[rule] += removed * combinations_without(axis);
    }
  }
}

void Enumerator::prepare() {
  const std::size_t count = values_.size();
  below_.assign(count + 1, 1);
  for (std::size_t i = count; i-- > 0;) below_[i] = below_[i + 1] * values_[i].size();
  rules_at_.resize(count);
  gpus_at_.resize(count);
  products_.emplace(domain_, values_);
  for (std::size_t rule = 0; rule < domain_.rules.size(); ++rule) {
    if (!active_[rule]) continue;
    const std::vector<std::size_t>& axes = domain_.rules[rule].axes;
    if (!is_gpu_rule(rule))
      rules_at_[axes.back()].push_back(rule);
    else
      for (const std::size_t axis : axes) gpus_at_[axis] = rule;
  }
}

void Enumerator::sample(std::uint64_t seed) {
  constexpr std::size_t max_values = 64;
  if (all_values_.empty()) all_values_ = values_;
  tries_ = 0;
  for (std::size_t axis = 0; axis < domain_.schedule_axis(); ++axis) {
    const std::vector<std::uint32_t>& values = all_values_[axis];
    const std::uint64_t axis_seed = base::mix(base::mix(seed) + axis);
    std::vector<std::uint32_t>& sampled = values_[axis];
    sampled = values;
    if (values.size() > max_values) {
      sampled.resize(max_values);
      for (std::size_t i = 0; i < max_values; ++i)
        sampled[i] = values[base::mix(axis_seed + i) % values.size()];
      std::ranges::sort(sampled);
      sampled.erase(std::ranges::unique(sampled).begin(), sampled.end());
    }
    std::ranges::sort(sampled, {},
                      [&](std::uint32_t value) { return base::mix(axis_seed + value); });
  }
}

bool Enumerator::stay_near(std::uint64_t layout, std::size_t slot) {
  constexpr std::size_t steps = 6;
  if (all_values_.empty()) all_values_ = values_;
  tries_ = 0;
  std::vector<std::size_t> open;
  for (std::size_t axis = domain_.schedule_axis(); axis-- > 0;) {
    const std::size_t count = domain_.open()[axis].values.size();
    values_[axis] = {static_cast<std::uint32_t>(layout % count)};
    layout /= count;
    if (all_values_[axis].size() > 1) open.push_back(axis);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const std::size_t first : open)
    for (const std::size_t second : open)
      if (first < second || open.size() == 1) pairs.emplace_back(first, second);
  if (slot >= pairs.size()) return false;
  // The pairs of axes are shuffled, so that consecutive slots vary different axes.
  std::ranges::sort(pairs, {}, [&](const auto& pair) {
    return base::mix(pair.first * open.size() + pair.second);
  });
  for (const std::size_t axis : {pairs[slot].first, pairs[slot].second}) {
    const std::vector<std::uint32_t>& values = all_values_[axis];
    const auto centre = std::ranges::lower_bound(values, values_[axis].front()) - values.begin();
    const auto first = std::max<std::ptrdiff_t>(0, centre - std::ptrdiff_t{steps});
    const auto last =
        std::min<std::ptrdiff_t>(std::ssize(values), centre + std::ptrdiff_t{steps} + 1);
    values_[axis].assign(values.begin() + first, values.begin() + last);
  }
  return true;
}

bool Enumerator::is_over() {
  constexpr std::uint64_t stop_mask = 0xfffff;
  return tries_ > max_tries_ || ((tries_ & stop_mask) == 0 && *stop_ && (*stop_)());
}

bool Enumerator::run(const Visit& visit, std::uint64_t max_tries,
                     const std::function<bool()>& stop) {
  visit_ = &visit;
  stop_ = &stop;
  max_tries_ = max_tries;
  if (below_.front() == 0) return true;
  digits_.assign(domain_.schedule_axis(), 0);
  return enumerate_axis(0, 0, domain_.fixed_gpus);
}

void Enumerator::set(std::size_t axis, std::uint32_t value) {
  for (const auto& [slot, number] : domain_.open()[axis].values[value].names) names_[slot] = number;
}

bool Enumerator::holds(std::size_t rule) const {
  try {
    return domain_.rules[rule].program->holds(names_);
  } catch (const ExpressionError& error) {
    throw fault_of(domain_.rules[rule], error);
  }
}

bool Enumerator::contains(std::span<const std::uint32_t> digits) {
  std::uint64_t gpus = domain_.fixed_gpus;
  for (std::size_t axis = 0; axis < digits.size(); ++axis) {
    const std::uint32_t value = digits[axis];
    if (!std::ranges::binary_search(all_values(axis), value)) return false;
    if (domain_.open()[axis].info.key == "cluster") cluster_ = value;
    if (gpus_at_[axis]) {
      gpus *= domain_.open()[axis].values[value].gpus;
      if (!products_->can_complete(axis + 1, cluster_, gpus)) return false;
    }
    set(axis, value);
    if (!std::ranges::all_of(rules_at_[axis], [&](std::size_t rule) { return holds(rule); }))
      return false;
  }
  return true;
}

std::optional<std::size_t> Enumerator::broken_rule(std::span<const std::uint32_t> digits) {
  std::uint64_t gpus = domain_.fixed_gpus;
  std::size_t cluster = 0;
  for (std::size_t axis = 0; axis < digits.size(); ++axis) {
    if (domain_.open()[axis].info.key == "cluster") cluster = digits[axis];
    gpus *= domain_.open()[axis].values[digits[axis]].gpus;
    set(axis, digits[axis]);
  }
  const auto meets = [&](std::size_t rule) {
    if (is_gpu_rule(rule)) return std::ranges::count(domain_.allowed_gpus[cluster], gpus) > 0;
    try {
      return holds(rule);
    } catch (const config::Error&) {
      return true;
    }
  };
  for (std::size_t rule = 0; rule < domain_.rules.size(); ++rule)
    if (!meets(rule)) return rule;
  return std::nullopt;
}

// Returns whether a rule excludes the value that was just chosen on an axis. If so, counts all
// combinations with this value as excluded by the rule.
bool Enumerator::is_excluded(std::size_t depth) {
  for (const std::size_t rule : rules_at_[depth])
    if (!holds(rule)) {
      excluded_[rule] += below_[depth + 1];
      return true;
    }
  return false;
}

bool Enumerator::enumerate_axis(std::size_t depth, std::uint64_t layout, std::uint64_t gpus) {
  if (depth == domain_.schedule_axis()) return visit_layout(layout);
  const SweepAxis& axis = domain_.open()[depth];
  const bool is_cluster = axis.info.key == "cluster";
  for (const std::uint32_t value : values_[depth]) {
    ++tries_;
    if (is_over()) return false;
    if (is_cluster) cluster_ = value;
    std::uint64_t product = gpus;
    if (gpus_at_[depth]) {
      product *= axis.values[value].gpus;
      if (!products_->can_complete(depth + 1, cluster_, product)) {
        excluded_[*gpus_at_[depth]] += below_[depth + 1];
        continue;
      }
    }
    set(depth, value);
    if (is_excluded(depth)) continue;
    digits_[depth] = value;
    if (!enumerate_axis(depth + 1, layout * axis.values.size() + value, product)) return false;
  }
  return true;
}

bool Enumerator::visit_layout(std::uint64_t layout) {
  const std::size_t axis = domain_.schedule_axis();
  if (rules_at_[axis].empty()) return (*visit_)(layout, digits_, values_[axis]);
  schedules_.clear();
  for (const std::uint32_t schedule : values_[axis]) {
    ++tries_;
    if (is_over()) return false;
    set(axis, schedule);
    if (!is_excluded(axis)) schedules_.push_back(schedule);
  }
  return schedules_.empty() || (*visit_)(layout, digits_, schedules_);
}

}  // namespace pipewright::search
