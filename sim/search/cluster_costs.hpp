#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/search/cluster_costs.hpp"
#include "analysis/report/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// The question of --costs: "tokens=300B deadline=30d price=2.5", or a price for each cluster by its
// name.
struct CostQuestion {
  analysis::Objective objective;         // the tokens, the deadline and the default price
  std::map<std::string, double> prices;  // of a GPU-hour, by cluster
};

// Throws a config::Error that names `option`.
CostQuestion read_cost_question(std::span<const std::string> words, const std::string& option);

// The part of a sweep on each of its clusters, with the price there as the objective. Throws
// config::Error for a cluster without a price, and for a price of an unknown cluster.
std::vector<Space> cost_parts(const CostQuestion& question, const config::Value& sweep,
                              const std::vector<ClusterFacts>& facts, const std::string& option);

// The cheapest candidate on each cluster that keeps the deadline. Throws as run_search().
std::vector<analysis::ClusterCost> cluster_costs(const analysis::SearchRun& run,
                                                 const std::vector<Space>& parts, Workers& workers,
                                                 const SearchOptions& options,
                                                 const SearchCalls& calls);

}  // namespace pipewright::search
