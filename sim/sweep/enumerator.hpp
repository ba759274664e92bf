#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "sim/sweep/domain.hpp"

namespace pipewright::search {

// The products of parallel sizes (tp, cp, pp, dp) that the axes not chosen yet can still turn into
// an allowed number of GPUs.
class GpuProducts {
 public:
  // Takes for each axis the values that are left, as indices.
  GpuProducts(const Domain& domain, const std::vector<std::vector<std::uint32_t>>& values);

  // Returns whether values of the axes after the first `depth` exist that turn `product`, the
  // product so far, into an allowed number of GPUs.
  bool can_complete(std::size_t depth, std::size_t cluster, std::uint64_t product) const {
    return reachable_[cluster][depth].contains(product);
  }

 private:
  std::vector<std::vector<std::unordered_set<std::uint64_t>>> reachable_;
};

// Enumerates the combinations of a domain's axis values depth first, one axis after the other. A
// rule is checked as soon as the values that it depends on are chosen, and the combinations that it
// excludes are counted.
class Enumerator {
 public:
  // Receives the number of a layout, the index of its value on each axis but the schedules, and the
  // allowed schedules. Returns false to end the enumeration.
  using Visit = std::function<bool(std::uint64_t, std::span<const std::uint32_t>,
                                   std::span<const std::uint32_t>)>;

  // The enumeration checks the rules that are `active`, or all rules if it is empty. Supports at
  // most 2^63 combinations.
  explicit Enumerator(const Domain& domain, std::vector<bool> active = {});

  // Limits the following runs to some values of each axis. The seed determines which values, and in
  // which order they are tried.
  void sample(std::uint64_t seed);
  // Limits the following runs to layouts whose values on two axes are at most a few steps away from
  // those of `layout`, with equal values on all others. `slot` selects the axes. Returns false
  // after the last slot.
  bool stay_near(std::uint64_t layout, std::size_t slot);

  // Runs until `visit` returns false, `max_tries` values were tried, or `stop`, which is called
  // periodically, returns true. Returns whether all combinations were enumerated.
  bool run(const Visit& visit, std::uint64_t max_tries = ~std::uint64_t{0},
           const std::function<bool()>& stop = {});

  // Returns whether a combination, given as the value of each axis, meets every active rule. Rules
  // are checked in the order of the enumeration, so that a rule that guards another one from
  // dividing by 0 comes first. Counts nothing. Throws config::Error for a rule that cannot be
  // evaluated.
  bool contains(std::span<const std::uint32_t> digits);
  // Returns the first rule, in the order of the domain, that a combination does not meet. Rules
  // that cannot be evaluated for it are skipped.
  std::optional<std::size_t> broken_rule(std::span<const std::uint32_t> digits);

  // Returns for each rule the number of combinations that it has excluded.
  const std::vector<std::uint64_t>& excluded() const { return excluded_; }
  std::uint64_t tries() const { return tries_; }

 private:
  void apply_rules_of_single_axes();
  void prepare();
  void set(std::size_t axis, std::uint32_t value);
  bool is_over();
  bool holds(std::size_t rule) const;
  bool is_excluded(std::size_t depth);
  bool enumerate_axis(std::size_t depth, std::uint64_t layout, std::uint64_t gpus);
  bool visit_layout(std::uint64_t layout);
  const std::vector<std::uint32_t>& all_values(std::size_t axis) const {
    return all_values_.empty() ? values_[axis] : all_values_[axis];
  }
  bool is_gpu_rule(std::size_t rule) const { return !domain_.rules[rule].program; }

  const Domain& domain_;
  std::vector<bool> active_;
  std::vector<double> names_;
  std::vector<std::vector<std::uint32_t>> values_;      // values that runs try, by axis
  std::vector<std::vector<std::uint32_t>> all_values_;  // values_ before the first limit; or empty
  std::vector<std::uint64_t> below_;                    // combinations of this axis and later ones
  std::vector<std::vector<std::size_t>> rules_at_;      // by the last axis that rules depend on
  std::vector<std::optional<std::size_t>> gpus_at_;     // rule of the number of GPUs, by its axes
  std::vector<std::uint64_t> excluded_;
  std::optional<GpuProducts> products_;
  std::size_t cluster_ = 0;  // value of the axis of clusters, which is the first axis
  std::vector<std::uint32_t> digits_;
  std::vector<std::uint32_t> schedules_;
  std::uint64_t tries_ = 0;
  std::uint64_t max_tries_ = 0;
  const Visit* visit_ = nullptr;
  const std::function<bool()>* stop_ = nullptr;
};

}  // namespace pipewright::search
