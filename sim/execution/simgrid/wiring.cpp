#include "sim/execution/simgrid/wiring.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {

Wiring::Wiring(const Job& job, const RankPlacement& placement, const ReplicaKinds& kinds,
               const ReplicaGroups& replica_groups, FoldedLinks links)
    : job_(job), placement_(placement), kinds_(kinds) {
  Plans hops;
  add_hops(hops);
  const bool folds = job.ranks_per_stage() > 1 || kinds.simulated.size() < job.replicas();
  if (!folds) {
    for (std::size_t i = 0; i < hops.plans.size(); ++i)
      hops.owners[i]->push_back(make_transfer_plan(hops.plans[i], placement));
    return;
  }
  Plans ops;
  add_all_ops(ops, replica_groups);
  if (kinds.are_alike) {
    // Folding all traffic together keeps a GPU separate that shares links with other traffic than
    // its peers.
    hops.plans.insert(hops.plans.end(), ops.plans.begin(), ops.plans.end());
    hops.kinds.insert(hops.kinds.end(), ops.kinds.begin(), ops.kinds.end());
    hops.owners.insert(hops.owners.end(), ops.owners.begin(), ops.owners.end());
    take(hops, fold(job.cluster, placement, hops.plans, hops.kinds, LinkOrder::ignored, links));
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

namespace {

// True if, in each group in which a simulated replica takes part, a simulated replica stands for
// each participant.
bool are_represented(const ReplicaKinds& kinds, const Participants& participants) {
  std::vector<bool> is_simulated(kinds.kind_of.size());
  for (const std::uint32_t replica : kinds.simulated) is_simulated[replica] = true;
  for (std::size_t group = 0; group < participants.ends.size(); ++group) {
    std::set<std::uint32_t> missing;
    bool has_simulated = false;
    for (const std::uint32_t replica : participants.of(group))
      missing.insert(kinds.kind_of[replica]);
    for (const std::uint32_t replica : participants.of(group))
      if (is_simulated[replica]) {
        has_simulated = true;
        missing.erase(kinds.kind_of[replica]);
      }
    if (has_simulated && !missing.empty()) return false;
  }
  return true;
}

}  // namespace

std::optional<ReplicaKinds> Wiring::find_alike(const Job& job, const RankPlacement& placement,
                                               std::size_t most, FoldedLinks links) {
  const ReplicaKinds one_kind{.kind_of = std::vector<std::uint32_t>(job.replicas()),
                              .simulated = {job.reported_replica},
                              .are_alike = false};
  const ReplicaGroups replica_groups(job, one_kind.simulated);
  const Wiring wiring(job, placement, one_kind, replica_groups, JointRun{});
  const Plans& plans = wiring.unfolded_;
  const std::vector<std::uint64_t> classes = classes_of_replicas(
      placement, plans.plans, plans.kinds, plans.participants, job.replicas(), most, links);
  if (classes.empty()) return std::nullopt;
  ReplicaKinds kinds{.kind_of = {}, .simulated = {}, .are_alike = true};
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (std::uint32_t replica = 0; replica < job.replicas(); ++replica) {
    const auto [it, is_new] = numbers.try_emplace(classes[replica], numbers.size());
    kinds.kind_of.push_back(it->second);
    if (is_new) kinds.simulated.push_back(replica);
  }
  kinds.simulated[kinds.kind_of[job.reported_replica]] = job.reported_replica;
  std::ranges::sort(kinds.simulated);
  if (!are_represented(kinds, plans.participants)) return std::nullopt;
  return kinds;
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
  for (const HopPlans::Hop& hop : hop_plans.hops) {
    plans.owners.push_back(&hops_[{hop.source, hop.destination}]);
    plans.participants.replicas.push_back(hop.source.replica);
    plans.participants.ends.push_back(plans.participants.replicas.size());
  }
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
  const std::set<std::uint32_t> participants = participants_of(op);
  for (auto& plan : plan_op(op)) {
    if (plan.empty()) continue;
    plans.plans.push_back(std::move(plan));
    plans.kinds.push_back(kind);
    plans.owners.push_back(&it->second);
    plans.participants.replicas.insert(plans.participants.replicas.end(), participants.begin(),
                                       participants.end());
    plans.participants.ends.push_back(plans.participants.replicas.size());
  }
  return kind;
}

// Replicas whose ranks run a collective; none if all replicas do.
std::set<std::uint32_t> Wiring::participants_of(const CollectiveOp& op) const {
  std::set<std::uint32_t> replicas;
  for (const std::vector<std::uint32_t>& group : *op.groups)
    for (const std::uint32_t rank : group) replicas.insert(job_.ranks->of(rank).dp);
  return replicas.size() < job_.replicas() ? replicas : std::set<std::uint32_t>();
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

std::vector<Transfer> Wiring::close() {
  is_closed_ = true;
  std::vector<Transfer> transfers;
  const auto add = [&](const TransferPlans& transfer_plans) {
    for (const auto& transfer_plan : transfer_plans)
      for (const TransferPlan::Step& step : transfer_plan->steps)
        transfers.insert(transfers.end(), step.transfers.begin(), step.transfers.end());
  };
  for (const auto& [hop, transfer_plans] : hops_) add(transfer_plans);
  for (const auto& [op, transfer_plans] : ops_) add(transfer_plans);
  return transfers;
}

std::uint32_t Wiring::represents(const cluster::Link* link) const {
  const auto it = represented_by_.find(link);
  return it == represented_by_.end() ? 1 : it->second;
}

const Wiring::TransferPlans& Wiring::transfer_plans(const CollectiveOp& op) {
  const auto [it, is_new] = ops_.try_emplace({op.groups, op.collective, op.bytes, op.times});
  if (is_new && is_closed_) throw std::logic_error("a collective runs that was not planned");
  if (is_new)
    for (const auto& plan : plan_op(op))
      if (!plan.empty()) it->second.push_back(make_transfer_plan(plan, placement_));
  return it->second;
}

}  // namespace pipewright::execution
