#pragma once

#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/justify.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::cli {

// One iteration of a scenario where nothing contends, to compare schedules by: on the ideal
// network, with the timing engine. What the scenario says of a cluster becomes the time of a hop:
// that of the boundary tensor between the neighbours that are farthest apart.
class Uncontended {
 public:
  explicit Uncontended(config::Scenario scenario);

  const config::Scenario& scenario() const { return scenario_; }  // its p2p_time is the hop
  analysis::Summary summary(const workload::Plan& plan) const;
  trace::Trace trace(const workload::Plan& plan) const;

 private:
  void run(const workload::Plan& plan, trace::Sink& sink) const;

  trace::Assumed assumed_;  // what times of a model rest on, which the scenario has by then
  config::Scenario scenario_;
  cluster::Cluster network_;
  std::vector<cluster::Host*> hosts_;
};

std::string sizes(const config::Scenario& scenario);  // "8 devices x 32 microbatches"

// One schedule of the catalog under a scenario, with the parameters that are its defaults.
struct CatalogRun {
  const schedules::Entry* entry = nullptr;
  bool is_searchable = false;  // of the kind that the search looks at
  std::string why_not;         // not empty: it cannot do these sizes, or not with these times
  analysis::Summary summary;
};
std::vector<CatalogRun> run_catalog(const Uncontended& uncontended);
std::vector<CatalogRun> searchable(std::vector<CatalogRun> runs);  // those that the search looks at

// The longest time from a device's first start to its last end, in seconds.
double span_of(const analysis::Summary& run);

// Percentages of ratios, of which 0 is written 0.00.
analysis::Quantity two_decimals();

// Schedules side by side, the best by the objective first, and how much worse the others are.
class CatalogTable {
 public:
  explicit CatalogTable(schedules::Objective objective) : objective_(objective) {}

  void add(std::string name, analysis::Summary run);
  std::string text() const;

 private:
  struct Row {
    std::string name;
    analysis::Summary run;
  };
  double value(const analysis::Summary& run) const;

  schedules::Objective objective_;
  std::vector<Row> rows_;  // sorted
};

}  // namespace pipewright::cli
