#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// Evaluates candidates of a sweep on one cluster. A candidate is a scenario with one schedule.
class Evaluator {
 public:
  // All scenarios must have the cluster of `scenario`. `memory`, if not 0, replaces the memory of
  // the cluster's GPUs. With `has_rules`, a candidate that its stack refuses is illegal. Throws
  // config::Error and cluster::Error.
  Evaluator(const config::Scenario& scenario, std::uint64_t memory, bool has_rules = true);
  ~Evaluator();

  // Function that returns a lower bound on the fraction of time that a candidate loses in a goodput
  // run (failures, checkpoints, ..). The row's `site` is set.
  using LeastLost = std::function<double(const config::Scenario&, const analysis::CandidateRow&)>;

  // Assesses each schedule of the scenario without simulation and returns a row for it: whether it
  // is possible, its peak memory, and a lower bound of its iteration time. Results that candidates
  // share are computed once. Bounds use `basis`, or a more detailed basis where that yields
  // nothing. On the basis of the network, families whose order of passes does not depend on times
  // count with their order.
  std::vector<analysis::CandidateRow> assess(const config::Value& scenario,
                                             analysis::Basis basis = analysis::Basis::order,
                                             const LeastLost& least_lost = {});
  // Prepares everything that simulations share. Programs that simulate in child processes call it
  // first.
  void get_ready();
  // Simulates the scenario's only schedule with SimGrid, unless it turns out to be impossible, and
  // returns its row, with `site` set.
  analysis::CandidateRow simulate(const config::Value& scenario);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipewright::evaluation
