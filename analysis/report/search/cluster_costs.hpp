#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/training_cost.hpp"

namespace pipewright::analysis {

// What a training costs on one cluster: the cheapest candidate that keeps to the deadline, or else
// the fastest of all.
struct ClusterCost {
  std::string cluster;
  Objective objective;              // the price there, the tokens and the deadline
  std::optional<GpuPower> power;    // of its GPUs; none: not known
  std::optional<CandidateRow> row;  // none: nothing was simulated there
  std::string named;                // the candidate
  bool is_proven = false;           // nothing in the sweep is cheaper there
  std::string why_none;

  double days() const;
  bool keeps_deadline() const;
  double price() const;
  double tokens_per_unit() const;                // of money
  std::optional<double> megawatt_hours() const;  // of the GPUs alone, as training_cost() counts
};

// A table, the cheapest first, and what it says in words.
std::string cluster_costs_text(std::vector<ClusterCost> costs);
Json cluster_costs_json(const std::vector<ClusterCost>& costs);

}  // namespace pipewright::analysis
