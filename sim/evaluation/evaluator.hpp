#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// Evaluates candidates, which are scenarios with a schedule, on one cluster.
class Evaluator {
 public:
  // All scenarios must have the cluster of `scenario`. `memory`, if not 0, replaces the memory of
  // the cluster's GPUs. Throws config::Error and cluster::Error.
  Evaluator(const config::Scenario& scenario, std::uint64_t memory);
  ~Evaluator();

  // Lower bound on the fraction of time that a candidate loses in a goodput run. The row has its
  // site.
  using LeastLost = std::function<double(const config::Scenario&, const analysis::CandidateRow&)>;

  // One row for each schedule of the scenario: whether it is possible, its peak memory, and a lower
  // bound of its simulated time. Results that candidates share are computed once. Bounds use
  // `basis`, or a more detailed basis where that yields nothing.
  std::vector<analysis::CandidateRow> assess(const config::Value& scenario,
                                             analysis::Basis basis = analysis::Basis::order,
                                             const LeastLost& least_lost = {});
  // Prepares everything that simulations share, for programs that simulate in child processes.
  void get_ready();
  // Simulates the scenario's only schedule with SimGrid, unless it turns out to be impossible. The
  // row has its site.
  analysis::CandidateRow simulate(const config::Value& scenario);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipewright::evaluation
