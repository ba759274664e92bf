#include "sim/evaluation/job_traffic.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::evaluation {
namespace {

using config::Algorithm;
using execution::RankPlacement;
using workload::Collective;
using workload::Group;
using workload::Operation;
using workload::Ranks;

// Kinds of groups that reduce gradients, in the order in which ReplicaGroups::gradients() returns
// its collectives: without and with replicated shards.
constexpr std::array replica_groups_of_gradients{Group::dp, Group::edp};
constexpr std::array shard_groups_of_gradients{Group::shard, Group::expert_shard, Group::replicate,
                                               Group::expert_replicate};

// Collective over this kind of group that moves the most bytes in one pass, over all passes and
// stages.
std::optional<workload::Call> main_call(const workload::StageCosts& costs, Group group) {
  std::optional<workload::Call> largest;
  for (const workload::StageTraffic& stage : costs.traffic)
    for (const auto& calls : stage.inside)
      for (const workload::Call& call : calls)
        if (call.group == group &&
            (!largest || call.bytes * call.times > largest->bytes * largest->times))
          largest = call;
  return largest;
}

// Name under which benchmarks of the cluster list this collective, or the most similar one.
std::string_view benchmark_name(Collective collective) {
  if (collective == Collective::dispatch) return "all-to-all";
  if (collective == Collective::ring_exchange) return "send-recv";
  return workload::name_of(collective);
}

}  // namespace

Groups stage_pairs(const Ranks& ranks,
                   const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours) {
  Groups groups;
  for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
    for (const auto& [a, b] : neighbours)
      if (a < b)
        for (const Ranks::Part& part : ranks.hop({replica, a}, b, true))
          groups.push_back({part.source, part.destination});
  return groups;
}

std::string operation_text(const Operation& collective, std::uint64_t bytes, bool between_stages) {
  return between_stages ? fmt::format("{} each way", analysis::format_bytes(bytes))
                        : fmt::format("{} of {}", workload::name_of(collective.kind),
                                      analysis::format_bytes(bytes));
}

bool have_partners(const Groups& groups) {
  return std::ranges::any_of(groups, [](const auto& group) { return group.size() > 1; });
}

std::vector<JobCall> job_calls(const config::Scenario& scenario, const Hardware& hardware,
                               const workload::Plan& plan) {
  const Ranks& ranks = hardware.ranks;
  std::vector<JobCall> calls;
  const auto add = [&](std::string_view name, const Operation& collective, std::uint64_t bytes,
                       Groups groups, bool between_stages = false) {
    if (bytes == 0 || !have_partners(groups)) return;
    calls.push_back({std::string(name), collective, bytes, std::move(groups), between_stages});
  };
  for (const Group group : {Group::tp, Group::cp, Group::ep, Group::etp})
    if (const auto call = main_call(plan.costs, group))
      add(name_of(group), call->collective, call->bytes, ranks.groups(group));

  const execution::Job job = plain_job(scenario, hardware, plan.schedule, plan.costs);
  const execution::ReplicaGroups replica_groups(job);
  if (!plan.costs.traffic.empty()) {
    // Gradients of dense weights and of experts; if shards are replicated, also their sums over the
    // copies.
    auto largest = replica_groups.gradients(0);
    for (std::uint32_t stage = 0; stage < plan.schedule.stages(); ++stage) {
      const auto ops = replica_groups.gradients(stage);
      for (std::size_t i = 0; i < largest.size(); ++i)
        if (ops[i].bytes > largest[i].bytes) largest[i] = ops[i];
    }
    const auto groups = largest.size() > replica_groups_of_gradients.size()
                            ? std::span<const Group>(shard_groups_of_gradients)
                            : std::span<const Group>(replica_groups_of_gradients);
    for (std::size_t i = 0; i < groups.size(); ++i)
      add(name_of(groups[i]), largest[i].collective, largest[i].bytes, ranks.groups(groups[i]));
  }
  add("pp", Collective::send_recv, plan.costs.boundary_bytes,
      stage_pairs(ranks, plan.schedule.routes.neighbours()), true);
  return calls;
}

std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario, const Hardware& hardware,
                                       const RankPlacement& placement) {
  const workload::Plan plan =
      workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus);
  std::vector<comm::Traffic> traffic;
  for (const JobCall& call : job_calls(scenario, hardware, plan)) {
    const Algorithm algorithm = call.collective == Collective::all_reduce
                                    ? scenario.communication.all_reduce
                                    : Algorithm::automatic;
    traffic.push_back(comm::make_traffic(
        call.name, operation_text(call.collective, call.bytes, call.between_stages),
        call.collective, call.bytes, call.groups, algorithm, placement));
  }
  return traffic;
}

std::string untried(const config::Scenario& scenario, const Hardware& hardware,
                    const workload::Plan& plan) {
  const auto& records = hardware.cluster.records();
  if (records.empty()) return "";
  std::string names;
  for (const JobCall& call : job_calls(scenario, hardware, plan)) {
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t rank : call.groups.front())
      nodes.insert(hardware.cluster.node_of(hardware.hosts.at(rank)));
    if (!covers(records, benchmark_name(call.collective.kind),
                static_cast<std::uint32_t>(call.groups.front().size()),
                static_cast<std::uint32_t>(nodes.size()), call.bytes))
      names += (names.empty() ? "" : " + ") + call.name;
  }
  return names;
}

}  // namespace pipewright::evaluation
