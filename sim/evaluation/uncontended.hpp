#pragma once

#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Simulates one iteration of a scenario without contention, for comparisons of schedules: on the
// ideal network, with the timing engine. Every hop takes as long as a boundary tensor between the
// two neighbouring devices that are farthest apart in the scenario's cluster.
class Uncontended {
 public:
  explicit Uncontended(config::Scenario scenario);

  const config::Scenario& scenario() const { return scenario_; }  // p2p_time is the hop
  analysis::Summary summary(const workload::Plan& plan) const;
  trace::Trace trace(const workload::Plan& plan) const;

 private:
  void run(const workload::Plan& plan, trace::Sink& sink) const;

  trace::Evidence evidence_;  // what the times of the model rest on
  config::Scenario scenario_;
  cluster::Cluster network_;
  std::vector<cluster::Host*> hosts_;
};

// Result of a run of one of the built-in schedules with its default parameters.
struct CatalogRun {
  const schedules::Entry* entry = nullptr;
  bool is_searchable = false;  // the search handles this kind of schedule
  std::string why_not;         // reason why the schedule is impossible here; empty if it ran
  analysis::Summary summary;
};
std::vector<CatalogRun> run_catalog(const Uncontended& uncontended);
std::vector<CatalogRun> searchable(std::vector<CatalogRun> runs);  // runs that are searchable

// Longest time, over all devices, from the start of a device's first pass to the end of its last
// one, in seconds.
double span_of(const analysis::Summary& run);

}  // namespace pipewright::evaluation
