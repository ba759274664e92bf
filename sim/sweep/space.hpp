#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::search {

// The combinations of the values of a sweep. A layout is a combination of the values of all axes
// but the schedules. A combination has the number layout * schedules() + schedule, and is a
// candidate if it meets every rule.
class Space {
 public:
  // Takes the facts about each cluster, in the order of cluster_values(sweep). Throws
  // config::Error.
  Space(Sweep sweep, const std::vector<ClusterFacts>& facts);
  ~Space();
  Space(Space&&) noexcept;

  const Sweep& sweep() const;
  const std::vector<analysis::SearchAxis>& axes() const;
  const std::vector<std::string>& groups() const;
  std::uint64_t schedules() const;
  double combinations() const;  // may exceed the numbers that there are

  // Calls visit(layout, schedules) for every layout that has candidates, in ascending order, until
  // `visit` returns false or `stop` returns true. Counts how many combinations each rule excludes.
  // Returns whether all layouts were visited. Throws config::Error if there are more than 2^63
  // combinations.
  using Visit = std::function<bool(std::uint64_t, std::span<const std::uint32_t>)>;
  bool for_each_layout(const Visit& visit, const std::function<bool()>& stop = {}) const;
  // Returns whether no combination is a candidate. Also returns false if `stop` ends the
  // enumeration before it finds one.
  bool is_empty(const std::function<bool()>& stop = {}) const;

  // Returns whether the combination with this number meets every rule, in whichever shard it is.
  // Takes microseconds however large the space is. Throws config::Error if there are more than 2^63
  // combinations.
  bool contains(std::uint64_t candidate) const;
  // Returns the number of the combination that has the given value on each axis: the inverse of
  // analysis::choices().
  std::uint64_t index_of(std::span<const std::uint32_t> choices) const;
  // Explains why a combination is not a candidate, as in "the rule `tp <= 4` excludes it". Returns
  // nothing for a candidate.
  std::optional<std::string> why_no_candidate(std::uint64_t candidate) const;

  // Visits some layouts from a random part of the space, both chosen and ordered by `seed`. Tries
  // at most `max_tries` values of axes. Does not count excluded combinations. See for_each_layout()
  // for `visit`.
  void sample(std::uint64_t seed, std::uint64_t max_tries, const Visit& visit) const;
  // Visits layouts that differ from `layout` in the values of one or two axes. Each `slot`, counted
  // from 0, varies another pair of axes. Returns false if there is no such slot.
  bool visit_near(std::uint64_t layout, std::size_t slot, const Visit& visit) const;
  // Returns how many combinations each rule excludes: as counted by a complete enumeration
  // if there was one, else by the last enumeration.
  std::vector<analysis::Excluded> excluded() const;

  bool is_of_shard(std::uint64_t layout) const;  // whether it belongs to the shard of the sweep
  std::uint32_t group(std::uint64_t layout) const;
  std::size_t cluster(std::uint64_t layout) const;  // index in cluster_values()
  // Returns whether the order of passes of a schedule is found by a search, as for the schedule
  // `searched`.
  bool is_searched(std::uint64_t schedule) const;
  // Returns the number of a layout's placement: layouts with the same number have their ranks on
  // the same GPUs.
  std::uint64_t placement(std::uint64_t layout) const;
  // Returns a function that gives a lower bound of the seconds of an iteration from its work: the
  // time with all GPUs at peak throughput. Empty if candidates may differ in the model or the GPUs.
  std::function<double(const analysis::IterationWork&)> floor() const;

  // Returns the scenario of a layout, with a list of schedules.
  config::Value layout(std::uint64_t layout, std::span<const std::uint32_t> schedules) const;
  // Returns the scenario of a candidate as `pipewright run` reads it.
  config::Value candidate(std::uint64_t candidate) const;

  // Explains why a space has no candidates: lists the rules that contradict each other, and those
  // without which there would be candidates.
  std::string why_empty() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipewright::search
