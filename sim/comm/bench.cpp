#include "sim/comm/bench.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {
namespace {

using execution::ByProtocol;
using execution::PhaseCost;

// Seconds per byte of the operation's size that the most heavily loaded first or last link of a
// path needs to carry its data, for each protocol.
ByProtocol busiest_gpu(const PhaseCost& cost, const execution::RankPlacement& placement) {
  std::map<std::pair<std::uint32_t, const cluster::Link*>, ByProtocol> seconds_of;
  for (const execution::Flow& flow : cost.flows) {
    const cluster::Route route = placement.route(flow.source, flow.destination);
    if (route.links.empty()) continue;
    for (std::size_t p = 0; p < route.per_protocol.size(); ++p) {
      const double efficiency = cost.is_raw ? 1 : route.per_protocol[p].efficiency;
      const double seconds = flow.bytes / efficiency / route.bandwidth;
      seconds_of[{flow.source, route.links.front()}][p] += seconds;
      seconds_of[{flow.destination, route.links.back()}][p] += seconds;
    }
  }
  ByProtocol busiest{};
  for (const auto& [key, seconds] : seconds_of)
    for (std::size_t p = 0; p < busiest.size(); ++p) busiest[p] = std::max(busiest[p], seconds[p]);
  return busiest;
}

}  // namespace

double alpha_beta(const BenchmarkRun& run, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  const workload::Operation kind = collective_of(run);
  const std::vector<std::uint32_t>& group = run.groups.front();
  const execution::AlgorithmProtocol choice =
      execution::choose(kind, size, group, run.algorithm, run.placement);
  double seconds = 0;
  const std::vector<execution::AlgorithmChoice> choices =
      execution::algorithm_choices(kind, group, choice.algorithm, run.placement);
  for (const PhaseCost& cost : choices.front().phases) {
    const ByProtocol transfer = busiest_gpu(cost, run.placement);
    seconds += transfer[static_cast<std::size_t>(choice.protocol)] * size +
               overhead(cost, transfer, choice.protocol, size);
  }
  return seconds;
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
  for (const std::uint64_t bytes : sizes) {
    const Prediction prediction = simulate(cluster, run, bytes);
    rows.push_back({.bytes = bytes,
                    .seconds = prediction.seconds,
                    .formula = alpha_beta(run, bytes),
                    .method = prediction.method});
    if (report) report(rows.size());
  }
  return rows;
}

}  // namespace pipewright::comm
