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
using Loads = std::unordered_map<const cluster::Link*, double>;  // bytes over shared links

double slowest(std::span<const double> seconds) {
  return seconds.empty() ? 0 : std::ranges::max(seconds);
}

Loads loads_of(const Plans& plans, const RankPlacement& placement) {
  Loads sum;
  for (const std::vector<Phase>& phases : plans)
    for (const Phase& phase : phases)
      for (const auto& [link, bytes] : execution::loads(phase, placement).of_links())
        if (cluster::is_shared(link)) sum[link] += bytes.front();
  return sum;
}

// The links that both use, by class.
std::vector<SharedLinks> shared_links(const Cluster& cluster, const Loads& one,
                                      const Loads& other) {
  std::map<std::string, SharedLinks> by_class;
  const auto seconds = [](const SharedLinks& links) {
    return links.bandwidth > 0 ? (links.bytes + links.other_bytes) / links.bandwidth : 0;
  };
  for (const cluster::Link* link : cluster.links()) {  // in an order that is always the same
    const auto here = one.find(link);
    const auto there = other.find(link);
    if (here == one.end() || there == other.end()) continue;
    SharedLinks& links = by_class[cluster.link_class(link)];
    const double parts = cluster.parts_of(link);
    SharedLinks this_one{.link_class = cluster.link_class(link),
                         .links = links.links + 1,
                         .busiest = Cluster::link_name(link),
                         .bandwidth = cluster.bandwidth_of(link),
                         .bytes = here->second / parts,
                         .other_bytes = there->second / parts};
    if (seconds(this_one) > seconds(links) * (1 + 1e-9))
      links = std::move(this_one);
    else
      ++links.links;
  }
  std::vector<SharedLinks> sorted;
  for (auto& [name, links] : by_class) sorted.push_back(std::move(links));
  std::ranges::stable_sort(sorted, std::greater{}, seconds);
  return sorted;
}

// The flows of one phase of every group, so large that each lasts at least so many seconds.
Plans kept_busy(const Plans& plans, std::size_t phase, double seconds,
                const RankPlacement& placement) {
  Plans busy;
  for (const std::vector<Phase>& phases : plans) {
    if (phase >= phases.size()) continue;
    Phase endless{.flows = phases[phase].flows};
    for (execution::Flow& flow : endless.flows)
      flow.bytes = placement.route(flow.source, flow.destination).bandwidth * seconds;
    if (!endless.flows.empty()) busy.push_back({std::move(endless)});
  }
  return busy;
}

class InterferenceRuns {
 public:
  InterferenceRuns(Cluster& cluster, const RankPlacement& placement,
                   std::span<const Traffic> traffic)
      : cluster_(cluster), placement_(placement), traffic_(traffic) {
    for (const Traffic& kind : traffic) loads_.push_back(loads_of(kind.plans, placement));
  }

  analysis::TrafficFigures alone(const Traffic& kind) {
    const auto longest = std::ranges::max_element(
        kind.plans, {}, [&](const auto& plan) { return execution::alone(plan, placement_); });
    return {.name = kind.name,
            .operation = kind.operation,
            .method = kind.by,
            .groups = kind.plans.size(),
            .ranks = kind.ranks,
            .one_group = slowest(simulate({*longest})),
            .alone = slowest(simulate(kind.plans))};
  }

  Encounter together(std::size_t one, std::size_t other, std::span<const double> alone) {
    Encounter two{.one = one,
                  .other = other,
                  .one_busy = alone[one],
                  .other_busy = alone[other],
                  .one_together = alone[one],
                  .other_together = alone[other],
                  .shared = shared_links(cluster_, loads_[one], loads_[other])};
    if (two.shared.empty()) return two;  // neither notices the other
    two.one_busy = beside(one, other, alone[one]);
    two.other_busy = beside(other, one, alone[other]);
    Plans both = traffic_[one].plans;
    both.insert(both.end(), traffic_[other].plans.begin(), traffic_[other].plans.end());
    const std::vector<double> seconds = simulate(both);
    const std::span all(seconds);
    two.one_together = slowest(all.first(traffic_[one].plans.size()));
    two.other_together = slowest(all.subspan(traffic_[one].plans.size()));
    return two;
  }

 private:
  std::vector<double> simulate(const Plans& plans) {
    return execution::simulate_alone(cluster_, placement_, plans);
  }

  // Seconds of one kind while the other is busy: its mean speed over the other's phases.
  double beside(std::size_t one, std::size_t other, double alone) {
    double weights = 0;
    double speed = 0;
    const Plans& plans = traffic_[other].plans;
    std::size_t phases = 0;
    for (const std::vector<Phase>& plan : plans) phases = std::max(phases, plan.size());
    for (std::size_t phase = 0; phase < phases; ++phase) {
      double weight = 0;  // seconds of the phase alone, but for latency
      for (const std::vector<Phase>& plan : plans)
        if (phase < plan.size())
          weight = std::max(
              weight, execution::alone(std::vector{Phase{.flows = plan[phase].flows}}, placement_));
      if (weight <= 0) continue;
      weights += weight;
      speed += weight / beside_phase(one, other, phase, alone);
    }
    return weights > 0 ? weights / speed : alone;
  }

  double beside_phase(std::size_t one, std::size_t other, std::size_t phase, double alone) {
    const Plans& own = traffic_[one].plans;
    for (double horizon = 4 * alone;; horizon *= 4) {
      Plans both = own;
      for (auto& plan : kept_busy(traffic_[other].plans, phase, horizon, placement_))
        both.push_back(std::move(plan));
      const std::vector<double> seconds = simulate(both);
      // Nobody of the others may have ended before.
      const double found = slowest(std::span(seconds).first(own.size()));
      if (found <= horizon) return found;
    }
  }

  Cluster& cluster_;
  const RankPlacement& placement_;
  std::span<const Traffic> traffic_;
  std::vector<Loads> loads_;
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
  if (traffic.plans.empty()) throw std::logic_error("traffic '" + name + "' of nobody");
  return traffic;
}

analysis::Interference interfere(Cluster& cluster, const RankPlacement& placement,
                                 std::span<const Traffic> traffic,
                                 const std::function<void(double)>& progress) {
  analysis::Interference found{.cluster = cluster.name(), .ranks = placement.size()};
  InterferenceRuns runs(cluster, placement, traffic);
  const std::size_t kinds = traffic.size();
  const std::size_t pairs = kinds * (kinds - 1) / 2;
  const auto steps = static_cast<double>(kinds + pairs);
  double done = 0;
  const auto step = [&] {
    if (progress) progress(++done / steps);
  };
  std::vector<double> alone;
  for (const Traffic& kind : traffic) {
    found.traffic.push_back(runs.alone(kind));
    alone.push_back(found.traffic.back().alone);
    step();
  }
  for (std::size_t one = 0; one < kinds; ++one)
    for (std::size_t other = one + 1; other < kinds; ++other) {
      found.encounters.push_back(runs.together(one, other, alone));
      step();
    }
  return found;
}

}  // namespace pipewright::comm
