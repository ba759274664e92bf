#include "sim/execution/simgrid/wiring.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {

Wiring::Wiring(const Job& job, const RankPlacement& placement, const ReplicaKinds& kinds,
               const ReplicaGroups& replica_groups)
    : job_(job), placement_(placement), kinds_(kinds) {
  Plans hops;
  add_hops(hops);
  const bool folds = job.ranks_per_stage() > 1 || job.symmetric;
  if (!folds) {
    for (std::size_t i = 0; i < hops.plans.size(); ++i)
      hops.owners[i]->push_back(make_transfer_plan(hops.plans[i], placement));
    return;
  }
  Plans ops;
  add_all_ops(ops, replica_groups);
  if (!job.symmetric) {
    // Folding all traffic together keeps a GPU separate that shares links with other traffic than
    // its peers.
    hops.plans.insert(hops.plans.end(), ops.plans.begin(), ops.plans.end());
    hops.kinds.insert(hops.kinds.end(), ops.kinds.begin(), ops.kinds.end());
    hops.owners.insert(hops.owners.end(), ops.owners.begin(), ops.owners.end());
    take(hops, fold(job.cluster, placement, hops.plans, hops.kinds));
    return;
  }
  // The pipelines of all replicas of a kind are equivalent. The rings between replicas are not,
  // since some of their edges leave a leaf switch and cross more links; they are put on the links
  // that represent those of all replicas.
  const Folded folded = fold(job.cluster, placement, hops.plans, hops.kinds, LinkOrder::kept);
  take(hops, folded);
  take(ops, fold_beside(folded, job.cluster, placement, ops.plans, ops.kinds));
}

Wiring::Wiring(const Job& job, const RankPlacement& placement, const ReplicaKinds& kinds,
               const ReplicaGroups& replica_groups, JointRun /*joint_run*/)
    : job_(job), placement_(placement), kinds_(kinds) {
  add_hops(unfolded_);
  add_all_ops(unfolded_, replica_groups);
}

// Numbers of ranks and of kinds are made unique over all jobs.
void Wiring::fold_together(std::span<Wiring* const> wirings) {
  const auto folds = [](const Wiring* wiring) { return wiring->job_.ranks_per_stage() > 1; };
  if (std::ranges::none_of(wirings, folds)) {
    for (Wiring* wiring : wirings)
      for (std::size_t i = 0; i < wiring->unfolded_.plans.size(); ++i)
        wiring->unfolded_.owners[i]->push_back(
            make_transfer_plan(wiring->unfolded_.plans[i], wiring->placement_));
    return;
  }
  std::vector<cluster::Host*> hosts;
  std::vector<std::vector<Phase>> plans;
  std::vector<std::uint64_t> kinds;
  for (std::size_t number = 0; number < wirings.size(); ++number) {
    const Wiring& wiring = *wirings[number];
    const auto first_rank = static_cast<std::uint32_t>(hosts.size());
    for (std::vector<Phase> plan : wiring.unfolded_.plans) {
      for (Phase& phase : plan)
        for (Flow& flow : phase.flows) {
          flow.source += first_rank;
          flow.destination += first_rank;
        }
      plans.push_back(std::move(plan));
    }
    for (const std::uint64_t kind : wiring.unfolded_.kinds)
      kinds.push_back(kind * wirings.size() + number);
    hosts.insert(hosts.end(), wiring.job_.hosts.begin(), wiring.job_.hosts.end());
  }
  const cluster::Cluster& cluster = wirings.front()->job_.cluster;
  const Folded folded = fold(cluster, RankPlacement(cluster, std::move(hosts)), plans, kinds);
  std::size_t first = 0;
  for (Wiring* wiring : wirings) {
    wiring->take(wiring->unfolded_, folded, first);
    first += wiring->unfolded_.plans.size();
  }
}

LinksOfJob Wiring::links(const ReplicaGroups& replica_groups) {
  const auto add = [&](const Plans& plans, std::set<const cluster::Link*>& links) {
    for (const std::vector<Phase>& plan : plans.plans)
      for (const Phase& phase : plan)
        for (const Flow& flow : phase.flows)
          for (const cluster::Link* link : placement_.route(flow.source, flow.destination).links)
            if (cluster::is_shared(link)) links.insert(link);
  };
  LinksOfJob links;
  add(unfolded_, links.outside_passes);
  Plans calls;
  add_calls(calls, replica_groups);
  add(calls, links.in_passes);
  return links;
}

void Wiring::add_hops(Plans& plans) {
  HopPlans hop_plans = plan_hops(job_, placement_, kinds_.kind_of);
  plans.plans = std::move(hop_plans.plans);
  plans.kinds = std::move(hop_plans.kinds);
  for (const HopPlans::Hop& hop : hop_plans.hops)
    plans.owners.push_back(&hops_[{hop.source, hop.destination}]);
}

std::vector<std::vector<Phase>> Wiring::plan_op(const CollectiveOp& op) const {
  std::vector<std::vector<Phase>> plans;
  const auto algorithm = job_.conditions.communication.all_reduce;
  for (const auto& group : *op.groups) {
    plans.push_back(
        plan(op.collective, static_cast<double>(op.bytes), group, algorithm, placement_));
    repeat(plans.back(), op.times);
  }
  return plans;
}

std::uint64_t Wiring::add_op(Plans& plans, const CollectiveOp& op, std::uint64_t kind) {
  const auto [it, is_new] = ops_.try_emplace({op.groups, op.collective, op.bytes, op.times});
  if (!is_new) return kind;
  if (kind == 0) kind = ops_.size() << 1U | 1U;
  for (auto& plan : plan_op(op)) {
    if (plan.empty()) continue;
    plans.plans.push_back(std::move(plan));
    plans.kinds.push_back(kind);
    plans.owners.push_back(&it->second);
  }
  return kind;
}

void Wiring::add_ops(Plans& plans, const std::vector<CollectiveOp>& ops) {
  for (const CollectiveOp& op : ops) add_op(plans, op);
}

// Adds the same collective for every replica. The collectives of all replicas of a kind start
// together.
template <class OpOf>
void Wiring::add_op_per_replica(Plans& plans, const OpOf& op_of) {
  std::vector<std::uint64_t> op_kinds(kinds_.simulated.size());
  for (std::uint32_t replica = 0; replica < job_.replicas(); ++replica) {
    std::uint64_t& op_kind = op_kinds[kinds_.kind_of[replica]];
    op_kind = add_op(plans, op_of(replica), op_kind);
  }
}

void Wiring::add_all_ops(Plans& plans, const ReplicaGroups& replica_groups) {
  for (std::uint32_t stage = 0; stage < job_.costs.traffic.size(); ++stage) {
    if (!replica_groups.has(stage)) continue;
    add_ops(plans, replica_groups.gradients(stage));
    if (job_.conditions.zero == 0) continue;
    add_ops(plans, replica_groups.weights(stage));
    if (const std::uint32_t times = job_.conditions.backward_gathers; times > 1)
      add_ops(plans, replica_groups.weights(stage, false, times));
  }
  if (job_.conditions.communication.detail == config::Detail::full)
    add_calls(plans, replica_groups);
  if (replica_groups.embedding_bytes() == 0) return;
  add_op_per_replica(
      plans, [&](std::uint32_t replica) { return replica_groups.embeddings(replica).front(); });
}

// Adds plans for the collectives inside passes, which are simulated in full detail.
void Wiring::add_calls(Plans& plans, const ReplicaGroups& replica_groups) {
  const schedules::Routes& routes = job_.schedule.routes;
  for (std::uint32_t stage = 0; stage < job_.costs.traffic.size(); ++stage)
    for (const std::vector<workload::Call>& calls : job_.costs.traffic[stage].inside)
      for (const workload::Call& call : calls)
        for (std::uint32_t route = 0; route < routes.count(); ++route)
          add_op_per_replica(plans, [&](std::uint32_t replica) {
            return replica_groups.op(call, {replica, routes.device(stage, route)});
          });
}

// Gives each owner (a hop or a collective) its plans as folded, one for each group of ranks. Plans
// that folding made one are given to an owner once.
void Wiring::take(const Plans& plans, const Folded& folded, std::size_t first) {
  std::set<std::pair<const TransferPlans*, std::uint32_t>> taken;
  for (std::size_t i = 0; i < plans.owners.size(); ++i) {
    const std::uint32_t transfer_plan = folded.plan_of[first + i];
    if (!taken.insert({plans.owners[i], transfer_plan}).second) continue;
    plans.owners[i]->push_back(folded.transfer_plans[transfer_plan]);
    for (const TransferPlan::Step& step : folded.transfer_plans[transfer_plan]->steps)
      flows_ += step.transfers.size();
  }
  std::unordered_map<const cluster::Link*, std::uint32_t> classes;
  for (const auto& [link, stand_in] : folded.stand_in) ++classes[stand_in];
  for (const auto& [link, count] : classes) represented_by_.emplace(link, count);
}

std::uint32_t Wiring::represents(const cluster::Link* link) const {
  const auto it = represented_by_.find(link);
  return it == represented_by_.end() ? 1 : it->second;
}

const Wiring::TransferPlans& Wiring::transfer_plans(const CollectiveOp& op) {
  const auto [it, is_new] = ops_.try_emplace({op.groups, op.collective, op.bytes, op.times});
  if (is_new)
    for (const auto& plan : plan_op(op))
      if (!plan.empty()) it->second.push_back(make_transfer_plan(plan, placement_));
  return it->second;
}

}  // namespace pipewright::execution
