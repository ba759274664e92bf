#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/sweep/axis.hpp"
#include "sim/sweep/constraints/program.hpp"

namespace pipewright::search {

// A condition that a combination must meet to be a candidate.
struct Rule {
  std::string text;                 // as users see it
  config::Origin origin;            // empty unless the sweep has the rule as a constraint
  std::vector<std::size_t> axes;    // axes that it depends on, in order
  std::optional<Program> program;   // empty for the rule of the allowed numbers of GPUs
  std::optional<Program> distance;  // difference of both sides, for a comparison of numbers
  bool merges_equivalents = false;  // combinations that it excludes equal one that it leaves
};

// Returns the error for an expression that cannot be compiled or evaluated, with the location of
// its rule: "sweep.yaml:9:17: constraint 'tp <= 4', column 7: ...".
config::Error fault_of(const Rule& rule, const ExpressionError& error);

// A sweep whose combinations can be enumerated: its axes, the names that constraints use, and the
// rules.
struct Domain {
  Domain(const Sweep& sweep, const std::vector<ClusterFacts>& facts);

  SweepAxes axes;
  Names names;
  std::vector<Rule> rules;
  std::uint64_t fixed_gpus = 1;  // product of the parallel sizes that are not open
  // Allowed numbers of GPUs for each value of the axis of clusters; a single list if the cluster is
  // fixed.
  std::vector<std::vector<std::uint64_t>> allowed_gpus;
  double combinations = 1;

  const std::vector<SweepAxis>& open() const { return axes.open; }
  std::size_t schedule_axis() const { return axes.open.size() - 1; }

  // Describes a combination, given as the index of its value on each axis: "tp 8, pp 5, schedule
  // 1f1b".
  std::string shown(std::span<const std::uint32_t> digits) const;
};

}  // namespace pipewright::search
