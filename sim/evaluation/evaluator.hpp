#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// What a scenario and its schedule are worth, on one cluster.
class Evaluator {
 public:
  // The cluster of this scenario, and of all that come after it. `memory` stands for what the
  // cluster's GPUs have, if it is not 0. Throws config::Error, cluster::Error.
  Evaluator(const config::Scenario& first, std::uint64_t memory);
  ~Evaluator();

  // The least part of weeks that such a candidate loses. Its row has its site.
  using LeastLost = std::function<double(const config::Scenario&, const analysis::CandidateRow&)>;

  // One row for each schedule of the scenario: whether it can be, what it holds at its peak, and a
  // bound that no simulation is below. What candidates share is worked out once. They rest on
  // `basis`, or on more where that tells nothing.
  std::vector<analysis::CandidateRow> assess(const config::Value& scenario,
                                             analysis::Basis basis = analysis::Basis::order,
                                             const LeastLost& least_lost = {});
  // Has all ready that simulations share, for who has each in a child process.
  void get_ready();
  // Runs SimGrid for the scenario's only schedule, unless it turns out that it cannot be. The row
  // has its site.
  analysis::CandidateRow simulate(const config::Value& scenario);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipewright::evaluation
