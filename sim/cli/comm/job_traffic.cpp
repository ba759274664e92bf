#include "sim/cli/comm/job_traffic.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/units_text.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::cli {
namespace {

using config::Algorithm;
using execution::RankPlacement;
using workload::Collective;
using workload::Group;
using workload::Operation;
using workload::Ranks;
using Groups = std::vector<std::vector<std::uint32_t>>;  // of ranks

// As ReplicaGroups::gradients() has its collectives.
constexpr std::array of_replicas{Group::dp, Group::edp};
constexpr std::array of_shards{Group::shard, Group::expert_shard, Group::replicate,
                               Group::expert_replicate};

// Of devices that are neighbours, each with the rank of the other that has its place there.
Groups stage_pairs(const Ranks& ranks,
                   const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours) {
  Groups groups;
  for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
    for (std::uint32_t member = 0; member < ranks.ranks_per_stage(); ++member)
      for (const auto& [a, b] : neighbours)
        if (a < b)
          groups.push_back(
              {ranks.rank_of({replica, a}, member), ranks.rank_of({replica, b}, member)});
  return groups;
}

// The ranks of all stages that have the same place in them.
Groups pipelines(const Ranks& ranks) {
  Groups groups;
  for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
    for (std::uint32_t member = 0; member < ranks.ranks_per_stage(); ++member) {
      groups.emplace_back();
      for (std::uint32_t device = 0; device < ranks.devices(); ++device)
        groups.back().push_back(ranks.rank_of({replica, device}, member));
    }
  return groups;
}

Groups groups_of(const std::string& name, Collective collective, const Ranks& ranks) {
  if (name == "pp") {
    if (collective != Collective::send_recv) return pipelines(ranks);
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t device = 1; device < ranks.devices(); ++device)
      pairs.insert({device - 1, device});
    return stage_pairs(ranks, pairs);
  }
  const auto* const known = std::ranges::find(workload::group_names, name);
  if (known == workload::group_names.end()) return {};
  return ranks.groups(static_cast<Group>(known - workload::group_names.begin()));
}

std::string operation_text(const Operation& collective, std::uint64_t bytes, bool between_stages) {
  return between_stages ? fmt::format("{} each way", analysis::format_bytes(bytes))
                        : fmt::format("{} of {}", workload::name_of(collective.kind),
                                      analysis::format_bytes(bytes));
}

// What a kind of group says most of in one pass of any stage.
std::optional<workload::Call> main_call(const workload::StageCosts& costs, Group group) {
  std::optional<workload::Call> most;
  for (const workload::StageTraffic& stage : costs.traffic)
    for (const auto& calls : stage.inside)
      for (const workload::Call& call : calls)
        if (call.group == group && (!most || call.bytes * call.times > most->bytes * most->times))
          most = call;
  return most;
}

bool have_partners(const Groups& groups) {
  return std::ranges::any_of(groups, [](const auto& group) { return group.size() > 1; });
}

// What benchmarks call it that comes nearest.
std::string_view measured_as(Collective collective) {
  if (collective == Collective::dispatch) return "all-to-all";
  if (collective == Collective::ring_exchange) return "send-recv";
  return workload::name_of(collective);
}

}  // namespace

std::vector<JobCall> job_calls(const config::Scenario& scenario,
                               const evaluation::Hardware& hardware, const workload::Plan& plan) {
  const Ranks& ranks = hardware.ranks;
  std::vector<JobCall> found;
  const auto add = [&](std::string_view name, const Operation& collective, std::uint64_t bytes,
                       Groups groups, bool between_stages = false) {
    if (bytes == 0 || !have_partners(groups)) return;
    found.push_back({std::string(name), collective, bytes, std::move(groups), between_stages});
  };
  for (const Group group : {Group::tp, Group::cp, Group::ep, Group::etp})
    if (const auto call = main_call(plan.costs, group))
      add(name_of(group), call->collective, call->bytes, ranks.groups(group));

  const execution::Job job = evaluation::plain_job(scenario, hardware, plan.schedule, plan.costs);
  const execution::ReplicaGroups replica_groups(job);
  if (!plan.costs.traffic.empty()) {
    // Dense gradients, and those of experts; then sums over copies of shards.
    auto largest = replica_groups.gradients(0);
    for (std::uint32_t stage = 0; stage < plan.schedule.stages(); ++stage) {
      const auto ops = replica_groups.gradients(stage);
      for (std::size_t i = 0; i < largest.size(); ++i)
        if (ops[i].bytes > largest[i].bytes) largest[i] = ops[i];
    }
    const auto groups = largest.size() > of_replicas.size() ? std::span<const Group>(of_shards)
                                                            : std::span<const Group>(of_replicas);
    for (std::size_t i = 0; i < groups.size(); ++i)
      add(name_of(groups[i]), largest[i].collective, largest[i].bytes, ranks.groups(groups[i]));
  }
  add("pp", Collective::send_recv, plan.costs.boundary_bytes,
      stage_pairs(ranks, plan.schedule.routes.neighbours()), true);
  return found;
}

std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario,
                                       const evaluation::Hardware& hardware,
                                       const RankPlacement& placement) {
  const workload::Plan plan =
      workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus);
  std::vector<comm::Traffic> found;
  for (const JobCall& call : job_calls(scenario, hardware, plan)) {
    const Algorithm algorithm = call.collective == Collective::all_reduce
                                    ? scenario.communication.all_reduce
                                    : Algorithm::automatic;
    found.push_back(comm::make_traffic(
        call.name, operation_text(call.collective, call.bytes, call.between_stages),
        call.collective, call.bytes, call.groups, algorithm, placement));
  }
  return found;
}

std::string untried(const config::Scenario& scenario, const evaluation::Hardware& hardware,
                    const workload::Plan& plan) {
  const auto& records = hardware.cluster.records();
  if (records.empty()) return "";
  std::string names;
  for (const JobCall& call : job_calls(scenario, hardware, plan)) {
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t rank : call.groups.front())
      nodes.insert(hardware.cluster.node_of(hardware.hosts.at(rank)));
    if (!covers(records, measured_as(call.collective.kind),
                static_cast<std::uint32_t>(call.groups.front().size()),
                static_cast<std::uint32_t>(nodes.size()), call.bytes))
      names += (names.empty() ? "" : " + ") + call.name;
  }
  return names;
}

comm::Traffic parse_traffic(const std::string& text, const Ranks& ranks,
                            const RankPlacement& placement) {
  const auto fail = [&](const std::string& what) {
    throw UsageError(fmt::format(
        "--traffic '{}': {}; as in 'all-reduce 256M dp': an operation, a size, groups (tp, cp, ep, "
        "etp, dp, edp, shard, replicate, pp, embedding or world), and perhaps an algorithm",
        text, what));
  };
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.size() < 3 || words.size() > 4) fail(fmt::format("has {} words", words.size()));
  const auto operation = analysis::parse_operation(words[0]);
  if (!operation) fail(fmt::format("there is no operation '{}'", words[0]));
  const std::vector<std::uint64_t> sizes = parse_sizes(words[1], "--traffic");
  if (sizes.size() != 1) fail(fmt::format("'{}' is no single size", words[1]));
  const std::string& name = words[2];
  const bool known = std::ranges::find(workload::group_names, name) != workload::group_names.end();
  if (!known) fail(fmt::format("there are no groups '{}'", name));
  Algorithm algorithm = Algorithm::automatic;
  if (words.size() == 4) {
    const auto found = config::parse_algorithm(words[3]);
    if (!found) fail(fmt::format("there is no algorithm '{}'", words[3]));
    algorithm = *found;
  }
  const Collective collective = comm::collective_of(*operation);
  const Groups groups = groups_of(name, collective, ranks);
  if (!have_partners(groups))
    throw UsageError(
        fmt::format("--traffic '{}': groups of {} have one rank each; give --{} 2 or "
                    "more",
                    text, name, name == "edp" || name == "world" ? "dp" : name));
  const bool between_stages = name == "pp" && collective == Collective::send_recv;
  return comm::make_traffic(name, operation_text(collective, sizes.front(), between_stages),
                            collective, sizes.front(), groups, algorithm, placement);
}

}  // namespace pipewright::cli
