#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "sim/search/space/domain.hpp"

namespace pipewright::search {

// Which products of parallel sizes can still come to an allowed number of GPUs.
class GpuProducts {
 public:
  // `values` that are left of each axis.
  GpuProducts(const Domain& domain, const std::vector<std::vector<std::uint32_t>>& values);

  // Whether the axes after the first `depth` can make up for what `product` lacks, exactly.
  bool can_be(std::size_t depth, std::size_t cluster, std::uint64_t product) const {
    return reachable_[cluster][depth].contains(product);
  }

 private:
  std::vector<std::vector<std::unordered_set<std::uint64_t>>> reachable_;
};

// All combinations of a domain's values, depth first; each rule is looked at as soon as the values
// that it hangs on are chosen, and what it cuts away is counted.
class Walk {
 public:
  // The layout's number, the value of each axis but the schedules, and the schedules that may be.
  using Visit = std::function<bool(std::uint64_t, std::span<const std::uint32_t>,
                                   std::span<const std::uint32_t>)>;

  // `active` rules alone, or all. There may be 2^63 combinations at the most.
  explicit Walk(const Domain& domain, std::vector<bool> active = {});

  // Runs meet some values of each axis alone, which the seed chooses, in an order of their own.
  void sample(std::uint64_t seed);
  // Runs meet those that differ from one layout in the values of two axes alone, which the turn
  // chooses, and by no more than some steps. False after the last turn.
  bool stay_near(std::uint64_t layout, std::size_t turn);

  // Until `visit` returns false, after so many values were tried, or `stop`, which is asked now and
  // then, says so. Whether it came to the end.
  bool run(const Visit& visit, std::uint64_t most_tries = ~std::uint64_t{0},
           const std::function<bool()>& stop = {});

  // Whether a combination, as the value of each axis, meets every active rule. Rules are looked at
  // in the order of a walk, so that a rule that keeps another from dividing by 0 still does. Counts
  // nothing. Throws config::Error for a rule that cannot be evaluated.
  bool contains(std::span<const std::uint32_t> digits);
  // The first rule, in the order of the domain, that a combination does not meet. Rules that cannot
  // be evaluated for it are passed over.
  std::optional<std::size_t> broken_rule(std::span<const std::uint32_t> digits);

  const std::vector<std::uint64_t>& cut() const { return cut_; }  // combinations, by rule
  std::uint64_t tries() const { return tries_; }

 private:
  void thin_out();
  void prepare();
  void set(std::size_t axis, std::uint32_t value);
  bool is_over();
  bool holds(std::size_t rule) const;
  bool is_cut(std::size_t depth);
  bool enter(std::size_t depth, std::uint64_t layout, std::uint64_t gpus);
  bool leave(std::uint64_t layout);
  bool is_gpu_rule(std::size_t rule) const { return !domain_.rules[rule].program; }

  const Domain& domain_;
  std::vector<bool> active_;
  std::vector<double> names_;
  std::vector<std::vector<std::uint32_t>> values_;   // that are left, by axis
  std::vector<std::vector<std::uint32_t>> all_;      // the same before the first sample
  std::vector<std::uint64_t> below_;                 // combinations of the axes from here on
  std::vector<std::vector<std::size_t>> rules_at_;   // by the last axis that they hang on
  std::vector<std::optional<std::size_t>> gpus_at_;  // the rule of GPUs, by each axis of it
  std::vector<std::uint64_t> cut_;
  std::optional<GpuProducts> products_;
  std::size_t cluster_ = 0;  // the value of its axis, which is the first
  std::vector<std::uint32_t> digits_;
  std::vector<std::uint32_t> schedules_;
  std::uint64_t tries_ = 0;
  std::uint64_t most_tries_ = 0;
  const Visit* visit_ = nullptr;
  const std::function<bool()>* stop_ = nullptr;
};

}  // namespace pipewright::search
