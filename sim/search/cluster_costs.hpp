#pragma once

#include <cstddef>
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

// Arguments of the option --costs, such as "tokens=300B deadline=30d price=2.5". A price can also
// be given for one cluster, by the cluster's name. Without a price, the question is about days and
// energy.
struct CostQuestion {
  analysis::Objective objective;         // the tokens, the deadline and the default price
  std::map<std::string, double> prices;  // of a GPU-hour, by cluster

  bool has_price() const { return objective.price_per_gpu_hour > 0 || !prices.empty(); }
};

// Parses the arguments. Throws a config::Error that names `option`.
CostQuestion read_cost_question(std::span<const std::string> words, const std::string& option);

// Splits a sweep into one space per cluster, each with the cost at the cluster's price as the
// objective, or without prices with the time to train the tokens. Throws config::Error for a
// cluster without a price beside one with a price, and for a price of an unknown cluster.
std::vector<Space> cost_parts(const CostQuestion& question, const config::Value& sweep,
                              const std::vector<ClusterFacts>& facts, const std::string& option);

// Returns the name of the cluster of a space that cost_parts() made.
std::string cluster_of_part(const std::vector<Space>& parts, std::size_t part);

// Finds the cheapest candidate on a cluster that meets the deadline, or without a price the fastest
// one. Throws what run_search() throws: trace::TraceError and std::runtime_error.
analysis::ClusterCost cluster_cost(const analysis::SearchRun& run, const std::vector<Space>& parts,
                                   std::size_t part, Workers& workers, const SearchOptions& options,
                                   const SearchCalls& calls);

// Returns the cost of a simulated row of a search. `part` is that of the row's cluster, whose price
// counts.
analysis::ClusterCost cost_of_row(const analysis::SearchRun& run, const analysis::CandidateRow& row,
                                  const Space& part, const std::vector<ClusterFacts>& facts);

}  // namespace pipewright::search
