#include "sim/comm/interference.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/exposed_time.hpp"

namespace pipewright::comm {
namespace {

using analysis::Encounter;
using analysis::SharedLinks;
using cluster::Cluster;
using execution::Phase;
using execution::RankPlacement;
using Plans = std::vector<std::vector<Phase>>;
using LinkLoads = std::unordered_map<const cluster::Link*, double>;  // bytes by shared link

double slowest_group(std::span<const double> seconds) {
  return seconds.empty() ? 0 : std::ranges::max(seconds);
}

LinkLoads link_loads(const Plans& plans, const RankPlacement& placement) {
  LinkLoads sum;
  for (const std::vector<Phase>& phases : plans)
    for (const Phase& phase : phases)
      for (const auto& [link, bytes] : execution::loads(phase, placement).by_link())
        if (cluster::is_shared(link)) sum[link] += bytes.front();
  return sum;
}

// Links that two kinds of traffic both use, summarized by link class.
std::vector<SharedLinks> shared_links(const Cluster& cluster, const LinkLoads& first,
                                      const LinkLoads& second) {
  std::map<std::string, SharedLinks> by_class;
  const auto seconds = [](const SharedLinks& links) {
    return links.bandwidth > 0 ? (links.bytes + links.other_bytes) / links.bandwidth : 0;
  };
  for (const cluster::Link* link : cluster.links()) {  // in a reproducible order
    const auto first_load = first.find(link);
    const auto second_load = second.find(link);
    if (first_load == first.end() || second_load == second.end()) continue;
    SharedLinks& links = by_class[cluster.link_class(link)];
    const double parts = cluster.parts_of(link);
    SharedLinks candidate{.link_class = cluster.link_class(link),
                          .links = links.links + 1,
                          .busiest = Cluster::link_name(link),
                          .bandwidth = cluster.bandwidth_of(link),
                          .bytes = first_load->second / parts,
                          .other_bytes = second_load->second / parts};
    if (seconds(candidate) > seconds(links) * (1 + 1e-9))
      links = std::move(candidate);
    else
      ++links.links;
  }
  std::vector<SharedLinks> sorted;
  for (auto& [name, links] : by_class) sorted.push_back(std::move(links));
  std::ranges::stable_sort(sorted, std::greater{}, seconds);
  return sorted;
}

// Returns the flows of phase number `phase` of every group, enlarged so that each lasts at least
// `seconds`.
Plans make_busy(const Plans& plans, std::size_t phase, double seconds,
                const RankPlacement& placement) {
  Plans busy;
  for (const std::vector<Phase>& phases : plans) {
    if (phase >= phases.size()) continue;
    Phase long_phase{.flows = phases[phase].flows};
    for (execution::Flow& flow : long_phase.flows)
      flow.bytes = placement.route(flow.source, flow.destination).bandwidth * seconds;
    if (!long_phase.flows.empty()) busy.push_back({std::move(long_phase)});
  }
  return busy;
}

class InterferenceRuns {
 public:
  InterferenceRuns(Cluster& cluster, const RankPlacement& placement,
                   std::span<const Traffic> traffic)
      : cluster_(cluster), placement_(placement), traffic_(traffic) {
    for (const Traffic& kind : traffic) loads_.push_back(link_loads(kind.plans, placement));
  }

  analysis::TrafficFigures alone(const Traffic& kind) {
    const auto longest = std::ranges::max_element(kind.plans, {}, [&](const auto& plan) {
      return execution::uncontended_seconds(plan, placement_);
    });
    return {.name = kind.name,
            .operation = kind.operation,
            .method = kind.by,
            .groups = kind.plans.size(),
            .ranks = kind.ranks,
            .one_group = slowest_group(simulate({*longest})),
            .alone = slowest_group(simulate(kind.plans))};
  }

  Encounter together(std::size_t first, std::size_t second, std::span<const double> alone) {
    Encounter encounter{.one = first,
                        .other = second,
                        .one_busy = alone[first],
                        .other_busy = alone[second],
                        .one_together = alone[first],
                        .other_together = alone[second],
                        .shared = shared_links(cluster_, loads_[first], loads_[second])};
    if (encounter.shared.empty())
      return encounter;  // without shared links neither affects the other
    encounter.one_busy = seconds_beside(first, second, alone[first]);
    encounter.other_busy = seconds_beside(second, first, alone[second]);
    Plans merged_plans = traffic_[first].plans;
    merged_plans.insert(merged_plans.end(), traffic_[second].plans.begin(),
                        traffic_[second].plans.end());
    const std::vector<double> seconds = simulate(merged_plans);
    const std::span both_seconds(seconds);
    encounter.one_together = slowest_group(both_seconds.first(traffic_[first].plans.size()));
    encounter.other_together = slowest_group(both_seconds.subspan(traffic_[first].plans.size()));
    return encounter;
  }

 private:
  std::vector<double> simulate(const Plans& plans) {
    return execution::simulate_alone(cluster_, placement_, plans);
  }

  // Seconds that a kind of traffic takes while the other kind runs continuously, from its mean
  // speed over the other kind's phases.
  double seconds_beside(std::size_t first, std::size_t second, double alone) {
    double weights = 0;
    double speed = 0;
    const Plans& plans = traffic_[second].plans;
    std::size_t phases = 0;
    for (const std::vector<Phase>& plan : plans) phases = std::max(phases, plan.size());
    for (std::size_t phase = 0; phase < phases; ++phase) {
      double weight = 0;  // seconds of the phase alone, without latency
      for (const std::vector<Phase>& plan : plans)
        if (phase < plan.size())
          weight =
              std::max(weight, execution::uncontended_seconds(
                                   std::vector{Phase{.flows = plan[phase].flows}}, placement_));
      if (weight <= 0) continue;
      weights += weight;
      speed += weight / seconds_beside_phase(first, second, phase, alone);
    }
    return weights > 0 ? weights / speed : alone;
  }

  double seconds_beside_phase(std::size_t first, std::size_t second, std::size_t phase,
                              double alone) {
    const Plans& plans = traffic_[first].plans;
    for (double horizon = 4 * alone;; horizon *= 4) {
      Plans merged_plans = plans;
      for (auto& plan : make_busy(traffic_[second].plans, phase, horizon, placement_))
        merged_plans.push_back(std::move(plan));
      const std::vector<double> seconds = simulate(merged_plans);
      // The result is valid only if the background flows last longer than the measured traffic.
      const double elapsed = slowest_group(std::span(seconds).first(plans.size()));
      if (elapsed <= horizon) return elapsed;
    }
  }

  Cluster& cluster_;
  const RankPlacement& placement_;
  std::span<const Traffic> traffic_;
  std::vector<LinkLoads> loads_;
};

}  // namespace

Traffic make_traffic(const std::string& name, const std::string& operation,
                     const workload::Operation& collective, std::uint64_t bytes,
                     const std::vector<std::vector<std::uint32_t>>& groups,
                     execution::Algorithm algorithm, const RankPlacement& placement) {
  Traffic traffic{.name = name, .operation = operation};
  const auto count = static_cast<double>(bytes);
  for (const std::vector<std::uint32_t>& group : groups) {
    if (group.size() < 2) continue;
    if (traffic.plans.empty()) {
      traffic.ranks = group.size();
      traffic.by = to_string(execution::choose(collective, count, group, algorithm, placement));
    }
    traffic.plans.push_back(execution::plan(collective, count, group, algorithm, placement));
  }
  if (traffic.plans.empty())
    throw std::logic_error("traffic '" + name + "' has no group of two ranks");
  return traffic;
}

analysis::Interference interfere(Cluster& cluster, const RankPlacement& placement,
                                 std::span<const Traffic> traffic,
                                 const std::function<void(double)>& progress) {
  analysis::Interference interference{.cluster = cluster.name(), .ranks = placement.size()};
  InterferenceRuns runs(cluster, placement, traffic);
  const std::size_t kinds = traffic.size();
  const std::size_t pairs = kinds * (kinds - 1) / 2;
  const auto steps = static_cast<double>(kinds + pairs);
  double done = 0;
  const auto report_step = [&] {
    if (progress) progress(++done / steps);
  };
  std::vector<double> alone;
  for (const Traffic& kind : traffic) {
    interference.traffic.push_back(runs.alone(kind));
    alone.push_back(interference.traffic.back().alone);
    report_step();
  }
  for (std::size_t first = 0; first < kinds; ++first)
    for (std::size_t second = first + 1; second < kinds; ++second) {
      interference.encounters.push_back(runs.together(first, second, alone));
      report_step();
    }
  return interference;
}

}  // namespace pipewright::comm
