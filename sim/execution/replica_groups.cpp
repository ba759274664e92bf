#include "sim/execution/replica_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/execution/collectives/plan.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/rank_copies.hpp"

namespace pipewright::execution {

using workload::Collective;
using workload::Group;

namespace {

// Throws an error if in-switch reduction is requested but no group can use it: plans would silently
// fall back to rings.
void check_switches(const Job& job) {
  const config::Algorithm algorithm = job.conditions.communication.all_reduce;
  const auto switches = config::switches_of(algorithm);
  if (!switches) return;
  const RankPlacement placement(job.cluster, job.hosts);
  for (const Group kind : {Group::tp, Group::dp, Group::edp, Group::replicate, Group::embedding}) {
    if (job.ranks->group_size(kind) < 2) continue;
    const auto groups = job.ranks->groups(kind);
    if (groups.empty()) continue;
    const auto& largest = *std::ranges::max_element(groups, {}, &std::vector<std::uint32_t>::size);
    if (choose(Collective::all_reduce, 1, largest, algorithm, placement).algorithm == algorithm)
      return;
  }
  throw cluster::Error(
      fmt::format("communication.all_reduce is {}, but no group of this job can be reduced by "
                  "switches {} nodes: that needs {}, the same number on each node, and a platform "
                  "file with the property CLASS.sharp-efficiency",
                  config::to_string(algorithm), *switches,
                  *switches == "inside" ? "several ranks on a node" : "ranks on several nodes"))
      .suggest("leave the key out, or use automatic");
}

}  // namespace

std::vector<std::uint32_t> first_replicas(const Job& job) {
  std::vector<std::uint32_t> replicas(job.simulated_replicas());
  std::iota(replicas.begin(), replicas.end(), 0U);
  return replicas;
}

ProcessGroups::ProcessGroups(const workload::Ranks& ranks, std::span<const std::uint32_t> simulated)
    : ranks_(ranks), is_simulated_(ranks.replicas()) {
  for (const std::uint32_t replica : simulated) is_simulated_[replica] = true;
}

const ProcessGroups::GroupsOfKind& ProcessGroups::process_groups(Group kind) {
  GroupsOfKind& cached = groups_by_kind_[static_cast<std::size_t>(kind)];
  if (cached.number_by_device.empty()) cached = split(kind);
  return cached;
}

// Divides the device copies into process groups: copies that share a group of ranks, directly or
// through a chain of groups, belong together.
ProcessGroups::GroupsOfKind ProcessGroups::split(Group kind) const {
  const std::uint32_t devices = ranks_.devices();
  const std::vector<workload::ReplicaDevice> copies = workload::copies_by_rank(ranks_);
  const auto copy_index = [&](std::uint32_t rank) {
    return std::size_t{copies[rank].replica} * devices + copies[rank].device;
  };
  std::vector<std::size_t> root(std::size_t{ranks_.replicas()} * devices);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t index) {
    while (root[index] != index) index = root[index] = root[root[index]];
    return index;
  };
  auto groups = ranks_.groups(kind);
  for (const auto& group : groups)
    for (const std::uint32_t rank : group) {
      if (copies[rank] == copies[group.front()]) continue;
      const std::size_t a = find(copy_index(rank));
      const std::size_t b = find(copy_index(group.front()));
      root[std::max(a, b)] = std::min(a, b);
    }

  GroupsOfKind process_groups;
  std::vector<std::uint32_t> number(root.size());
  for (std::size_t index = 0; index < root.size(); ++index) {
    const std::size_t first = find(index);  // never larger than `index`
    if (first == index) {
      number[index] = static_cast<std::uint32_t>(process_groups.groups.size());
      process_groups.groups.emplace_back();
    }
    process_groups.number_by_device.push_back(number[first]);
    if (is_simulated_[index / devices]) ++process_groups.groups[number[first]].members;
  }
  for (auto& group : groups) {
    const std::size_t index = copy_index(group.front());
    process_groups.groups[process_groups.number_by_device[index]].groups.push_back(
        std::move(group));
  }
  return process_groups;
}

std::uint32_t ProcessGroups::process_group_of(Group kind, ReplicaDevice copy) {
  return process_groups(kind)
      .number_by_device[std::size_t{copy.replica} * ranks_.devices() + copy.device];
}

const ProcessGroup& ProcessGroups::holders(Group kind, const std::vector<std::uint32_t>& devices) {
  const auto [it, is_new] = holders_.try_emplace({kind, devices});
  ProcessGroup& united = it->second;
  if (!is_new) return united;
  for (const std::uint32_t device : devices) {
    // Copies of a device may belong to several process groups of experts.
    std::set<std::uint32_t> numbers;
    for (std::uint32_t replica = 0; replica < ranks_.replicas(); ++replica)
      numbers.insert(process_group_of(kind, {replica, device}));
    RankGroups groups;
    for (const std::uint32_t number : numbers) {
      const ProcessGroup& part = process_group(kind, number);
      united.members += part.members;
      groups.insert(groups.end(), part.groups.begin(), part.groups.end());
    }
    if (kind == Group::replicate || kind == Group::expert_replicate) {
      united.groups.insert(united.groups.end(), groups.begin(), groups.end());
      continue;
    }
    united.groups.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
      united.groups[i].insert(united.groups[i].end(), groups[i].begin(), groups[i].end());
  }
  return united;
}

const RankGroups& ProcessGroups::embedding(std::uint32_t replica) {
  if (embedding_.empty()) {
    embedding_.resize(ranks_.replicas());
    for (auto& group : ranks_.groups(Group::embedding))
      embedding_[ranks_.of(group.front()).dp].push_back(std::move(group));
  }
  return embedding_[replica];
}

ReplicaGroups::ReplicaGroups(const Job& job) : ReplicaGroups(job, first_replicas(job)) {}

ReplicaGroups::ReplicaGroups(const Job& job, std::vector<std::uint32_t> simulated)
    : ReplicaGroups(job, simulated,
                    job.ranks ? std::make_shared<ProcessGroups>(*job.ranks, simulated) : nullptr) {}

ReplicaGroups::ReplicaGroups(const Job& job, std::shared_ptr<ProcessGroups> groups)
    : ReplicaGroups(job, first_replicas(job), std::move(groups)) {}

ReplicaGroups::ReplicaGroups(const Job& job, std::vector<std::uint32_t> simulated,
                             std::shared_ptr<ProcessGroups> groups)
    : job_(job), simulated_(std::move(simulated)), groups_(std::move(groups)) {
  if (groups_ == nullptr) return;
  check_switches(job);
  const schedules::Routes& routes = job.schedule.routes;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    if (routes.has_weights(stage))
      holders_.push_back(workload::devices_of(routes, stage));
    else
      holders_.push_back({routes.device(stage, 0)});
    if (holders_.back().size() > 1 && job.conditions.zero >= 2 && !job.costs.traffic.empty())
      throw schedules::Error(fmt::format(
          "{} keeps stage {} on devices {}, which run different microbatches, but ZeRO-{} "
          "synchronizes all copies of a stage after each microbatch; allowed: zero 0 or 1",
          job.schedule.name, stage, fmt::join(holders_.back(), " and "), job.conditions.zero));
    if (holders_.back().size() > 1 && job.reshards_stages())
      throw schedules::Error(
          fmt::format("{} keeps stage {} on devices {}, which gather their stages in different "
                      "orders; allowed: "
                      "leave out parallel.max_unsharded_stages",
                      job.schedule.name, stage, fmt::join(holders_.back(), " and ")));
    const auto ranks = [&](std::uint32_t device) { return job.ranks->ranks_per_stage(device); };
    if (ranks(holders_.back().front()) != ranks(holders_.back().back()))
      throw schedules::Error(fmt::format(
          "{} keeps stage {} on devices {} with {} and {} GPUs, but gradients are summed rank by "
          "rank; allowed: the same parallel.tp_by_device for both",
          job.schedule.name, stage, fmt::join(holders_.back(), " and "),
          ranks(holders_.back().front()), ranks(holders_.back().back())));
    dense_.push_back(find_holders({Group::dp, Group::shard, Group::replicate}, stage));
    experts_.push_back(
        find_holders({Group::edp, Group::expert_shard, Group::expert_replicate}, stage));
  }
  if (job.ranks->size() == 1 || !job.conditions.communication.global_norm) return;
  // Time to compute the gradient norm: one number, summed up along a tree and sent back.
  const cluster::Route route = job.cluster.route(job.hosts.front(), job.hosts.back());
  norm_latency_ =
      job.cluster.model().launch + 2 * std::ceil(std::log2(job.ranks->size())) * route.latency;
}

ReplicaGroups::Holders ReplicaGroups::find_holders(const std::array<Group, 3>& kinds,
                                                   std::uint32_t stage) {
  const auto holders_of_kind = [&](Group kind) { return &groups_->holders(kind, holders_[stage]); };
  const ProcessGroup* const full = holders_of_kind(kinds[0]);
  if (job_.ranks->group_size(Group::replicate) == 1 &&
      job_.ranks->group_size(Group::expert_replicate) == 1)
    return {full, full, nullptr};
  return {full, holders_of_kind(kinds[1]), holders_of_kind(kinds[2])};
}

bool ReplicaGroups::has(std::uint32_t stage) const {
  if (!job_.ranks || job_.costs.traffic.empty() || !job_.schedule.routes.has_weights(stage))
    return false;
  // Tensor-parallel ranks may hold the same experts, so that copies of experts can exist without
  // data parallelism.
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  const bool experts = traffic.expert_parameters + traffic.frozen_expert_bytes > 0 &&
                       experts_[stage].full->groups.front().size() > 1;
  return experts || dense_[stage].full->groups.front().size() > 1;
}

std::uint64_t ReplicaGroups::gradient_bytes(std::uint32_t stage) const {
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  return (traffic.parameters + traffic.expert_parameters) *
         job_.conditions.communication.gradient_bytes / parts(stage);
}

std::uint64_t ReplicaGroups::weight_bytes(std::uint32_t stage) const {
  return static_cast<std::uint64_t>(static_cast<double>(job_.costs.gathered_whole(stage)) /
                                    weight_parts(stage));
}

std::uint64_t ReplicaGroups::embedding_bytes() const {
  if (!job_.ranks || job_.costs.traffic.empty()) return 0;
  std::uint64_t parameters = job_.costs.traffic.front().embedding_parameters;
  // Each rank sums up a smaller part of the embedding if the other end has more ranks.
  if (job_.ranks->are_uneven())
    parameters = std::min(parameters, job_.costs.traffic.back().embedding_parameters);
  return parameters * job_.conditions.communication.gradient_bytes;
}

std::uint32_t ReplicaGroups::parts(std::uint32_t stage) const {
  if (const auto layers = layers_at_once(stage); layers && job_.conditions.by_layer) return *layers;
  if (const std::uint32_t buckets = job_.costs.traffic[stage].buckets; buckets > 0) return buckets;
  return workload::gradient_parts(job_.costs.traffic[stage].parameters,
                                  job_.conditions.communication, job_.ranks->group_size(Group::dp));
}

std::uint32_t ReplicaGroups::weight_parts(std::uint32_t stage) const {
  if (!job_.schedule.routes.has_weights(stage)) return 0;
  if (job_.conditions.gathers_after()) return 1;
  const auto layers = layers_at_once(stage);
  return layers ? *layers : parts(stage);
}

std::optional<std::uint32_t> ReplicaGroups::layers_at_once(std::uint32_t stage) const {
  if (job_.conditions.zero < 3 || job_.costs.gathered.empty() || job_.costs.gathered[stage] == 0)
    return std::nullopt;
  if (!job_.costs.gathered_matrices.empty()) return job_.costs.gathered_matrices[stage];
  // ZeRO-3 holds one part of the weights in use, and the next ones that arrive.
  const std::uint32_t held_parts = 1 + parts_ahead(stage);
  const auto bytes = static_cast<double>(job_.costs.gathered_whole(stage));
  const double held = static_cast<double>(job_.costs.gathered[stage]);
  return std::max(1U, static_cast<std::uint32_t>(std::ceil(held_parts * bytes / held - 1e-6)));
}

std::vector<CollectiveOp> ReplicaGroups::over_replicas(Collective collective,
                                                       const ProcessGroup* Holders::*holders,
                                                       std::uint32_t stage,
                                                       double bytes_of_parameter) const {
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  const auto bytes = [&](std::uint64_t parameters) {
    return static_cast<std::uint64_t>(static_cast<double>(parameters) * bytes_of_parameter);
  };
  return {{&(dense_[stage].*holders)->groups, collective, bytes(traffic.parameters)},
          {&(experts_[stage].*holders)->groups, collective, bytes(traffic.expert_parameters)}};
}

std::vector<CollectiveOp> ReplicaGroups::gradients(std::uint32_t stage, bool with_copies) const {
  const workload::Conditions& conditions = job_.conditions;
  const double bytes = static_cast<double>(conditions.communication.gradient_bytes) / parts(stage);
  if (conditions.reduces_to_all())
    return over_replicas(Collective::all_reduce, &Holders::full, stage, bytes);
  const double shard_bytes =
      conditions.shard_gradient_bytes > 0
          ? static_cast<double>(conditions.shard_gradient_bytes) / parts(stage)
          : bytes;
  auto ops = over_replicas(Collective::reduce_scatter, &Holders::shards, stage, shard_bytes);
  if (!has_copies() || !with_copies) return ops;
  const Collective sum =
      conditions.shards_copies ? Collective::reduce_scatter : Collective::all_reduce;
  for (const CollectiveOp& op : over_copies(sum, stage, bytes)) ops.push_back(op);
  return ops;
}

std::vector<CollectiveOp> ReplicaGroups::over_copies(Collective collective, std::uint32_t stage,
                                                     double bytes_of_parameter) const {
  auto ops = over_replicas(collective, &Holders::copies, stage, bytes_of_parameter);
  ops[0].bytes /= dense_[stage].shards->groups.front().size();
  ops[1].bytes /= experts_[stage].shards->groups.front().size();
  return ops;
}

std::vector<CollectiveOp> ReplicaGroups::weights(std::uint32_t stage, bool with_copies,
                                                 std::uint32_t times) const {
  const double bytes = job_.costs.gathered_element / weight_parts(stage);
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  const auto add_other_types = [&](CollectiveOp& op, double other_bytes) {
    op.bytes = static_cast<std::uint64_t>(static_cast<double>(op.bytes) +
                                          other_bytes / weight_parts(stage));
  };
  if (!job_.conditions.broadcasts_weights()) {
    auto gathers = over_replicas(Collective::all_gather, &Holders::shards, stage, bytes);
    add_other_types(gathers[0], traffic.other_gathered);
    add_other_types(gathers[1], traffic.expert_other_gathered);
    gathers[0].bytes += traffic.frozen_bytes / weight_parts(stage);
    gathers[1].bytes += traffic.frozen_expert_bytes / weight_parts(stage);
    for (CollectiveOp& gather : gathers) gather.times = times;
    if (!has_copies() || !with_copies || !job_.conditions.shards_copies) return gathers;
    std::vector<CollectiveOp> ops = over_copies(Collective::all_gather, stage, bytes);
    ops.insert(ops.end(), gathers.begin(), gathers.end());
    return ops;
  }
  auto ops = over_replicas(Collective::broadcast, &Holders::shards, stage, bytes);
  add_other_types(ops[0], traffic.other_gathered);
  add_other_types(ops[1], traffic.expert_other_gathered);
  for (CollectiveOp& op : ops) {
    // Each rank broadcasts the shard that it has updated. The shards are divided among the parts of
    // the weights. If they do not divide evenly, each part has the larger number of shards, so that
    // all parts together have at least as many broadcasts as there are shards.
    const auto shards = static_cast<std::uint32_t>(op.groups->front().size());
    const std::uint32_t parts = weight_parts(stage);
    op.times = (shards + parts - 1) / parts;
    op.bytes /= op.times;
  }
  return ops;
}

const schedules::UnshardPlan& ReplicaGroups::unshard_plan(std::uint32_t device) const {
  const auto it = unshard_plans_.find(device);
  if (it != unshard_plans_.end()) return it->second;
  return unshard_plans_.emplace(device, job_.unshard_plan(device)).first->second;
}

const std::vector<std::uint32_t>& ReplicaGroups::replicas_with(Group kind,
                                                               ReplicaDevice copy) const {
  const auto [it, is_new] = replicas_with_.try_emplace({kind, copy});
  if (!is_new) return it->second;
  const std::uint32_t process_group = process_group_of(kind, copy);
  for (const std::uint32_t replica : simulated_)
    if (replica != copy.replica && process_group_of(kind, {replica, copy.device}) == process_group)
      it->second.push_back(replica);
  return it->second;
}

const std::vector<std::uint32_t>& ReplicaGroups::all_replicas_with(Group kind,
                                                                   ReplicaDevice copy) const {
  if (simulated_.size() == job_.replicas()) return replicas_with(kind, copy);
  const auto [it, is_new] = all_replicas_with_.try_emplace({kind, copy});
  if (!is_new) return it->second;
  std::set<std::uint32_t> peers;
  const workload::Ranks& ranks = *job_.ranks;
  const auto is_own = [&](std::uint32_t rank) {
    const workload::Coordinates at = ranks.of(rank);
    return at.dp == copy.replica && at.pp == copy.device;
  };
  for (const std::vector<std::uint32_t>& group : ranks.groups(kind))
    if (std::ranges::any_of(group, is_own))
      for (const std::uint32_t rank : group)
        if (ranks.of(rank).pp == copy.device) peers.insert(ranks.of(rank).dp);
  peers.erase(copy.replica);
  it->second.assign(peers.begin(), peers.end());
  return it->second;
}

bool ReplicaGroups::ties_embeddings(std::uint32_t device) const {
  if (embedding_bytes() == 0) return false;
  const std::uint32_t first = holders_.front().front();
  const std::uint32_t last = holders_.back().front();
  return first != last && (device == first || device == last);
}

std::vector<CollectiveOp> ReplicaGroups::embeddings(std::uint32_t replica) const {
  return {{&groups_->embedding(replica), Collective::all_reduce, embedding_bytes()}};
}

}  // namespace pipewright::execution
