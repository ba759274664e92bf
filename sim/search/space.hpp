#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/space/sweep.hpp"

namespace pipewright::search {

// All combinations of a sweep's values. A layout is a combination of all but the schedules;
// candidate = layout * schedules() + schedule.
class Space {
 public:
  // `facts` of each cluster in the order of cluster_values(sweep). Throws config::Error.
  Space(Sweep sweep, const std::vector<ClusterFacts>& facts);
  ~Space();
  Space(Space&&) noexcept;

  const Sweep& sweep() const;
  const std::vector<analysis::SearchAxis>& axes() const;
  const std::vector<std::string>& groups() const;
  std::uint64_t schedules() const;
  double combinations() const;  // may be more than can be numbered

  // Calls visit(layout, schedules of it) for every layout of which the constraints leave some, in
  // order, until it returns false, or `stop` true. What is cut away is counted, not visited. Throws
  // config::Error if there are more combinations than can be numbered.
  // Whether it came to the end of all.
  using Visit = std::function<bool(std::uint64_t, std::span<const std::uint32_t>)>;
  bool for_each_layout(const Visit& visit, const std::function<bool()>& stop = {}) const;
  // Whether no combination is a candidate. False, too, where `stop` ends the walk before it meets
  // one.
  bool is_empty(const std::function<bool()>& stop = {}) const;

  // Whether a combination is a candidate: a number below combinations() that meets every rule, of
  // whichever shard. Costs some microseconds, however large the space is. Throws as
  // for_each_layout() does.
  bool contains(std::uint64_t candidate) const;
  // The number of the combination that has these values, one of each axis: the inverse of
  // analysis::choices().
  std::uint64_t index_of(std::span<const std::uint32_t> choices) const;
  // Why a combination is no candidate: "the rule `tp <= 4` cuts it away". Nothing where it is one.
  std::optional<std::string> why_no_candidate(std::uint64_t candidate) const;

  // Some layouts from somewhere in the space, which the seed chooses: as for_each_layout(), but in
  // an order of values of its own, and no more than so many tries. Counts nothing.
  void sample(std::uint64_t seed, std::uint64_t most_tries, const Visit& visit) const;
  // Those that differ from a layout in few values, which the turn chooses; false after the last.
  bool visit_near(std::uint64_t layout, std::size_t turn, const Visit& visit) const;
  // How many each rule cuts away; where no walk over all layouts came to its end, in the last one.
  std::vector<analysis::Excluded> excluded() const;

  bool is_of_shard(std::uint64_t layout) const;  // of the sweep's, as which it is searched
  std::uint32_t group(std::uint64_t layout) const;
  std::size_t cluster(std::uint64_t layout) const;  // of cluster_values()
  // Of a schedule's number: whether its order is searched.
  bool is_searched(std::uint64_t schedule) const;
  // Layouts of equal ones have their ranks on the same GPUs.
  std::uint64_t placement(std::uint64_t layout) const;
  // Seconds that no candidate's iteration of this work is shorter than, were all GPUs to multiply
  // at their peak; none where candidates may have other models or GPUs.
  std::function<double(const analysis::IterationWork&)> floor() const;

  // As scenarios: a layout with a list of schedules, and one candidate, fit for `pipewright run`.
  config::Value layout(std::uint64_t layout, std::span<const std::uint32_t> schedules) const;
  config::Value candidate(std::uint64_t candidate) const;

  // Of a space without candidates: what removed them, and what single relaxation brings some back.
  std::string why_empty() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipewright::search
