#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/training_cost.hpp"

namespace pipewright::analysis {

// Cost of a training on one cluster. It is that of the cheapest candidate that keeps the deadline,
// or of the fastest candidate if none does or if there is no price.
struct ClusterCost {
  std::string cluster;
  Objective objective;              // price, tokens and deadline
  std::optional<GpuPower> power;    // power of its GPUs, if known
  std::optional<CandidateRow> row;  // empty: no candidate was simulated on the cluster
  std::string candidate_name;
  bool is_proven = false;      // no candidate on the cluster is cheaper
  std::string missing_reason;  // reason why there is no row

  bool has_price() const { return objective.price_per_gpu_hour > 0; }
  double days() const;
  bool keeps_deadline() const;
  double price() const;                          // 0 without a price
  double tokens_per_unit() const;                // tokens per unit of money
  std::optional<double> megawatt_hours() const;  // energy of the GPUs alone, as in training_cost()
};

// Returns a table with a row for each cost, in the order of the list, which must not be empty.
// Without prices, it has no columns of money.
TextTable cluster_costs_table(const std::vector<ClusterCost>& costs);

// Returns a table of clusters, the cheapest first, and below it a line for each cluster that names
// its candidate.
AnswerReport cluster_costs_answer(std::vector<ClusterCost> costs);
Json cluster_cost_json(const ClusterCost& cost);
Json cluster_costs_json(const std::vector<ClusterCost>& costs);

}  // namespace pipewright::analysis
