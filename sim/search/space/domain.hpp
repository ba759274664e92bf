#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/search/space/axis.hpp"
#include "sim/search/space/constraints/program.hpp"

namespace pipewright::search {

// What candidates have to keep to.
struct Rule {
  std::string text;                 // as written
  config::Origin origin;            // where; a rule that always is has none
  std::vector<std::size_t> axes;    // that it hangs on, in order
  std::optional<Program> program;   // none: the parallel sizes come to an allowed number of GPUs
  std::optional<Program> miss;      // of one that compares numbers: how far apart they are
  bool merges_equivalents = false;  // what it cuts away equals a combination that it leaves
};

// "sweep.yaml:9:17: constraint 'tp <= 4', column 7: " before what is wrong.
config::Error fault_of(const Rule& rule, const ExpressionError& error);

// A sweep made ready to be walked: its axes, what they mean, and the rules.
struct Domain {
  Domain(const Sweep& sweep, const std::vector<ClusterFacts>& facts);

  SweepAxes axes;
  Names names;
  std::vector<Rule> rules;
  std::uint64_t fixed_gpus = 1;  // the product of the parallel sizes that are not open
  // GPUs that a candidate may use, by value of the cluster axis (of one where that is not open).
  std::vector<std::vector<std::uint64_t>> allowed_gpus;
  double combinations = 1;

  const std::vector<SweepAxis>& open() const { return axes.open; }
  std::size_t schedule_axis() const { return axes.open.size() - 1; }

  // "tp 8, pp 5, schedule 1f1b", where digits are values of axes.
  std::string shown(std::span<const std::uint32_t> digits) const;
};

}  // namespace pipewright::search
