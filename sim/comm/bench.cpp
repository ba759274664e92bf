#include "sim/comm/bench.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/execution/collectives/many_routes.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {
namespace {

using execution::ByProtocol;
using execution::PhaseCost;

// Seconds per byte of the operation's size that the most heavily loaded first or last link of a
// path needs to carry its data, for each protocol.
ByProtocol busiest_gpu(const PhaseCost& cost, const execution::RankPlacement& placement) {
  // Key: the rank at the end of a path, and the number of its first or last link.
  std::unordered_map<std::uint64_t, ByProtocol> seconds_of;
  const auto at = [&](std::uint32_t rank, const cluster::Link* link) -> ByProtocol& {
    return seconds_of[std::uint64_t{rank} << 32U | link->number];
  };
  execution::ManyRoutes routes(placement, cost.flows.size());
  for (const execution::Flow& flow : cost.flows) {
    const cluster::Route& route = routes.route(flow.source, flow.destination);
    if (route.links.empty()) continue;
    ByProtocol& sent = at(flow.source, route.links.front());
    ByProtocol& received = at(flow.destination, route.links.back());
    for (std::size_t p = 0; p < route.per_protocol.size(); ++p) {
      const double wire = execution::on_wire(cost, route, static_cast<cluster::Protocol>(p));
      const double seconds = flow.bytes * wire / route.bandwidth;
      sent[p] += seconds;
      received[p] += seconds;
    }
  }
  ByProtocol busiest{};
  for (const auto& [key, seconds] : seconds_of)
    for (std::size_t p = 0; p < busiest.size(); ++p) busiest[p] = std::max(busiest[p], seconds[p]);
  return busiest;
}

// alpha_beta() of one run for any number of sizes.
class HockneyFormula {
 public:
  HockneyFormula(const execution::GroupPlanner& planner, const execution::RankPlacement& placement)
      : planner_(planner), placement_(placement), busiest_(planner.choices().size()) {}

  double seconds(const execution::GroupPlanner::Choice& choice, std::uint64_t bytes) {
    const auto size = static_cast<double>(bytes);
    const std::vector<PhaseCost>& costs = planner_.choices()[choice.index].phases;
    std::vector<ByProtocol>& busiest = busiest_[choice.index];
    double seconds = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (busiest.size() == i) busiest.push_back(busiest_gpu(costs[i], placement_));
      seconds += busiest[i][static_cast<std::size_t>(choice.method.protocol)] * size +
                 overhead(costs[i], busiest[i], choice.method.protocol, size);
    }
    return seconds;
  }

 private:
  const execution::GroupPlanner& planner_;
  const execution::RankPlacement& placement_;
  std::vector<std::vector<ByProtocol>> busiest_;  // by algorithm and phase, once it is needed
};

}  // namespace

double alpha_beta(const BenchmarkRun& run, std::uint64_t bytes) {
  const execution::GroupPlanner planner(collective_of(run), run.groups.front(), run.algorithm,
                                        run.placement);
  return HockneyFormula(planner, run.placement)
      .seconds(planner.choose(static_cast<double>(bytes)), bytes);
}

BenchmarkRun make_groups(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                         std::uint32_t groups, bool strided, Algorithm algorithm) {
  BenchmarkRun run{.operation = operation,
                   .algorithm = algorithm,
                   .placement = place_ranks(cluster, ranks * groups),
                   .groups = std::vector<std::vector<std::uint32_t>>(groups)};
  for (std::uint32_t rank = 0; rank < ranks * groups; ++rank)
    run.groups[strided ? rank % groups : rank / ranks].push_back(rank);
  return run;
}

std::vector<analysis::BenchRow> bench(cluster::Cluster& cluster, const BenchmarkRun& run,
                                      std::span<const std::uint64_t> sizes,
                                      const std::function<void(std::size_t)>& report) {
  std::vector<analysis::BenchRow> rows;
  const Simulation simulation(cluster, run);
  const execution::GroupPlanner& first_group = simulation.first_group();
  HockneyFormula formula(first_group, run.placement);
  for (const std::uint64_t bytes : sizes) {
    const Prediction prediction = simulation.predict(bytes);
    const double formula_seconds =
        formula.seconds(first_group.choose(static_cast<double>(bytes)), bytes);
    rows.push_back({.bytes = bytes,
                    .seconds = prediction.seconds,
                    .formula = formula_seconds,
                    .method = prediction.method});
    if (report) report(rows.size());
  }
  return rows;
}

}  // namespace pipewright::comm
