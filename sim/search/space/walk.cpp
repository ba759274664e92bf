#include "sim/search/space/walk.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/config/mix.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

using Products = std::unordered_set<std::uint64_t>;

// What has to be there before an axis, for one of `after` to be there behind it.
Products before(const SweepAxis& axis, const std::vector<std::uint32_t>& values,
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
      by_depth[i] = before(open[i], values[i], by_depth[i + 1]);
    reachable_.push_back(std::move(by_depth));
  }
}

Walk::Walk(const Domain& domain, std::vector<bool> active)
    : domain_(domain), active_(std::move(active)), names_(domain.names.values()) {
  if (active_.empty()) active_.assign(domain.rules.size(), true);
  cut_.resize(domain.rules.size());
  for (const SweepAxis& axis : domain.open()) {
    std::vector<std::uint32_t> all(axis.values.size());
    std::iota(all.begin(), all.end(), 0U);
    values_.push_back(std::move(all));
  }
  thin_out();
  prepare();
}

// What a rule says of one axis alone holds wherever that axis is, and need not be walked to.
void Walk::thin_out() {
  const auto others = [&](std::size_t axis) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (i != axis) product *= values_[i].size();
    return product;
  };
  const std::size_t nowhere = values_.size();
  for (std::size_t rule = 0; rule < domain_.rules.size(); ++rule) {
    const std::vector<std::size_t>& axes = domain_.rules[rule].axes;
    if (!active_[rule] || axes.size() > 1 || (is_gpu_rule(rule) && !axes.empty())) continue;
    const std::size_t axis = axes.empty() ? nowhere : axes.front();
    active_[rule] = false;
    if (axes.empty()) {
      const bool kept = is_gpu_rule(rule)
                            ? std::ranges::count(domain_.allowed_gpus.front(), domain_.fixed_gpus)
                            : holds(rule);
      if (kept) continue;
      cut_[rule] += others(nowhere);
      for (auto& values : values_) values.clear();
    } else {
      const std::size_t dead = std::erase_if(values_[axis], [&](std::uint32_t value) {
        set(axis, value);
        return !holds(rule);
      });
      cut_[rule] += dead * others(axis);
    }
  }
}

void Walk::prepare() {
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

void Walk::sample(std::uint64_t seed) {
  constexpr std::size_t most = 64;
  if (all_.empty()) all_ = values_;
  tries_ = 0;
  for (std::size_t axis = 0; axis < domain_.schedule_axis(); ++axis) {
    const std::vector<std::uint32_t>& all = all_[axis];
    const std::uint64_t own = mix(mix(seed) + axis);
    std::vector<std::uint32_t>& some = values_[axis];
    some = all;
    if (all.size() > most) {
      some.resize(most);
      for (std::size_t i = 0; i < most; ++i) some[i] = all[mix(own + i) % all.size()];
      std::ranges::sort(some);
      some.erase(std::ranges::unique(some).begin(), some.end());
    }
    std::ranges::sort(some, {}, [&](std::uint32_t value) { return mix(own + value); });
  }
}

bool Walk::stay_near(std::uint64_t layout, std::size_t turn) {
  constexpr std::size_t steps = 6;
  if (all_.empty()) all_ = values_;
  tries_ = 0;
  std::vector<std::size_t> open;
  for (std::size_t axis = domain_.schedule_axis(); axis-- > 0;) {
    const std::size_t count = domain_.open()[axis].values.size();
    values_[axis] = {static_cast<std::uint32_t>(layout % count)};
    layout /= count;
    if (all_[axis].size() > 1) open.push_back(axis);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const std::size_t one : open)
    for (const std::size_t other : open)
      if (one < other || open.size() == 1) pairs.emplace_back(one, other);
  if (turn >= pairs.size()) return false;
  // Neighbouring turns are to have little in common.
  std::ranges::sort(pairs, {},
                    [&](const auto& pair) { return mix(pair.first * open.size() + pair.second); });
  for (const std::size_t axis : {pairs[turn].first, pairs[turn].second}) {
    const std::vector<std::uint32_t>& all = all_[axis];
    const auto here = std::ranges::lower_bound(all, values_[axis].front()) - all.begin();
    const auto first = std::max<std::ptrdiff_t>(0, here - std::ptrdiff_t{steps});
    const auto last = std::min<std::ptrdiff_t>(std::ssize(all), here + std::ptrdiff_t{steps} + 1);
    values_[axis].assign(all.begin() + first, all.begin() + last);
  }
  return true;
}

bool Walk::is_over() {
  constexpr std::uint64_t now_and_then = 0xfffff;
  return tries_ > most_tries_ || ((tries_ & now_and_then) == 0 && *stop_ && (*stop_)());
}

bool Walk::run(const Visit& visit, std::uint64_t most_tries, const std::function<bool()>& stop) {
  visit_ = &visit;
  stop_ = &stop;
  most_tries_ = most_tries;
  if (below_.front() == 0) return true;
  digits_.assign(domain_.schedule_axis(), 0);
  return enter(0, 0, domain_.fixed_gpus);
}

void Walk::set(std::size_t axis, std::uint32_t value) {
  for (const auto& [slot, number] : domain_.open()[axis].values[value].names) names_[slot] = number;
}

bool Walk::holds(std::size_t rule) const {
  try {
    return domain_.rules[rule].program->holds(names_);
  } catch (const ExpressionError& error) {
    throw fault_of(domain_.rules[rule], error);
  }
}

bool Walk::contains(std::span<const std::uint32_t> digits) {
  std::uint64_t gpus = domain_.fixed_gpus;
  for (std::size_t axis = 0; axis < digits.size(); ++axis) {
    const std::uint32_t value = digits[axis];
    if (!std::ranges::binary_search(all_.empty() ? values_[axis] : all_[axis], value)) return false;
    if (domain_.open()[axis].info.key == "cluster") cluster_ = value;
    if (gpus_at_[axis]) {
      gpus *= domain_.open()[axis].values[value].gpus;
      if (!products_->can_be(axis + 1, cluster_, gpus)) return false;
    }
    set(axis, value);
    if (!std::ranges::all_of(rules_at_[axis], [&](std::size_t rule) { return holds(rule); }))
      return false;
  }
  return true;
}

std::optional<std::size_t> Walk::broken_rule(std::span<const std::uint32_t> digits) {
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

// Counts what a rule cuts away with the value that was just chosen.
bool Walk::is_cut(std::size_t depth) {
  for (const std::size_t rule : rules_at_[depth])
    if (!holds(rule)) {
      cut_[rule] += below_[depth + 1];
      return true;
    }
  return false;
}

bool Walk::enter(std::size_t depth, std::uint64_t layout, std::uint64_t gpus) {
  if (depth == domain_.schedule_axis()) return leave(layout);
  const SweepAxis& axis = domain_.open()[depth];
  const bool is_cluster = axis.info.key == "cluster";
  for (const std::uint32_t value : values_[depth]) {
    ++tries_;
    if (is_over()) return false;
    if (is_cluster) cluster_ = value;
    std::uint64_t product = gpus;
    if (gpus_at_[depth]) {
      product *= axis.values[value].gpus;
      if (!products_->can_be(depth + 1, cluster_, product)) {
        cut_[*gpus_at_[depth]] += below_[depth + 1];
        continue;
      }
    }
    set(depth, value);
    if (is_cut(depth)) continue;
    digits_[depth] = value;
    if (!enter(depth + 1, layout * axis.values.size() + value, product)) return false;
  }
  return true;
}

bool Walk::leave(std::uint64_t layout) {
  const std::size_t axis = domain_.schedule_axis();
  if (rules_at_[axis].empty()) return (*visit_)(layout, digits_, values_[axis]);
  schedules_.clear();
  for (const std::uint32_t schedule : values_[axis]) {
    ++tries_;
    if (is_over()) return false;
    set(axis, schedule);
    if (!is_cut(axis)) schedules_.push_back(schedule);
  }
  return schedules_.empty() || (*visit_)(layout, digits_, schedules_);
}

}  // namespace pipewright::search
