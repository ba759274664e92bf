#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"
#include "schedules/unshard.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/stage_costs.hpp"
#include "sim/workload/traffic.hpp"
#include "sim/workload/uneven.hpp"

namespace pipewright::execution {

using workload::ReplicaDevice;

enum class EngineKind : std::uint8_t { simgrid, timing };

// Smallest memory among a device's GPUs over all replicas.
struct Capacity {
  std::uint64_t bytes = 0;              // 0: no GPU file states it
  const cluster::Host* host = nullptr;  // first host with that little memory
};

// Complete input of one simulation: a schedule with its costs, placed on hosts.
struct Job {
  const schedules::Schedule& schedule;
  const workload::StageCosts& costs;
  const cluster::Cluster& cluster;
  std::vector<cluster::Host*> hosts;  // by rank
  schedules::P2p p2p = schedules::P2p::eager;
  std::optional<workload::Ranks> ranks = {};  // none: each device is one rank
  workload::Conditions conditions = {};
  // True if one replica of each kind is simulated, and its flows stand for those of all replicas of
  // its kind.
  bool symmetric = false;
  // Factors by which passes take longer, by replica and device; empty: all 1.
  std::vector<double> slowdown = {};
  std::vector<Capacity> capacity = {};                  // by device; empty: unknown
  std::shared_ptr<const workload::Uneven> uneven = {};  // null: all microbatches are the same size
  trace::Evidence evidence = {};                        // what costs and capacity rest on
  std::uint32_t reported_replica = 0;                   // replica that trace rows describe
  // Number of device copies from which on a job that is not symmetric is simulated by kinds of
  // replicas as well, if that is exact. Smaller jobs take about a second in full.
  std::size_t reduce_from = 1024;

  // True if devices wait for the norm of all gradients before the optimizer's step. Asynchronous
  // schedules do not wait: a device steps while other devices still compute.
  bool waits_for_norm() const {
    return conditions.communication.global_norm && schedule.weight_versions == 1;
  }
  // True if every collective inside passes is simulated.
  bool has_full_detail() const { return conditions.communication.detail == config::Detail::full; }
  // True if ZeRO-3 gathers the weights of a stage before each of its passes except weight-gradient
  // passes.
  bool gathers_for_passes() const {
    return conditions.zero >= 3 && ranks && !costs.traffic.empty() &&
           (ranks->group_size(workload::Group::shard) > 1 ||
            ranks->group_size(workload::Group::expert_shard) > 1);
  }
  // Half of a layer beside which the second stream of a fused pair runs a collective; none for
  // collectives that the kernels of the pair wait for. The second stream has expert dispatch and,
  // in braided pairs, tensor-parallel collectives.
  std::optional<std::size_t> half_in_pair(const workload::Call& call) const {
    if (call.is_dispatch()) return costs.half_of(call);
    constexpr std::size_t attention = 0;
    return schedule.braids && call.group == workload::Group::tp ? std::optional(attention)
                                                                : std::nullopt;
  }
  // True if FSDP reshards stages of a pipeline and gathers them again during an iteration.
  bool reshards_stages() const {
    return !conditions.unshard_windows.empty() && !costs.traffic.empty();
  }
  // Changes of the gathered stages of a device in each iteration. Only for jobs that reshard
  // stages.
  schedules::UnshardPlan unshard_plan(std::uint32_t device) const {
    return schedules::plan_unshards(schedule.programs[device], conditions.unshard_windows[device]);
  }
  // Factor by which the compute of a stage's passes is longer while collectives run beside it.
  double overlap_slowdown(schedules::PassKind kind, std::uint32_t stage) const {
    if (conditions.communication.overlap_slowdown)
      return *conditions.communication.overlap_slowdown;
    const auto& by_stage = costs.overlap_slowdown[static_cast<std::size_t>(kind)];
    return by_stage.empty() ? 1 : by_stage[stage];
  }
  double dispatch_slowdown(schedules::PassKind kind, std::uint32_t stage) const {
    const auto& by_stage = costs.dispatch_slowdown[static_cast<std::size_t>(kind)];
    return by_stage.empty() || conditions.communication.overlap_slowdown
               ? overlap_slowdown(kind, stage)
               : by_stage[stage];
  }
  // True if collectives slow down any pass.
  bool has_overlap_slowdown() const {
    if (costs.traffic.empty()) return false;
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
      for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
        if (overlap_slowdown(static_cast<schedules::PassKind>(kind), stage) != 1 ||
            dispatch_slowdown(static_cast<schedules::PassKind>(kind), stage) != 1)
          return true;
    return false;
  }
  std::uint32_t replicas() const { return ranks ? ranks->replicas() : 1; }
  std::uint32_t simulated_replicas() const { return symmetric ? 1 : replicas(); }
  std::uint32_t ranks_per_stage() const { return ranks ? ranks->ranks_per_stage() : 1; }
  std::uint32_t ranks_per_stage(std::uint32_t device) const {
    return ranks ? ranks->ranks_per_stage(device) : 1;
  }
  std::uint32_t rank(ReplicaDevice copy, std::uint32_t member) const {
    return ranks ? ranks->rank_of(copy, member) : copy.device;
  }
  // Messages of which a boundary tensor's transfer consists, from ranks of the source to ranks of
  // the destination, with their sizes in units of `boundary_bytes`. hop_bytes() is the size of the
  // whole tensor.
  std::vector<workload::Ranks::Part> hop(ReplicaDevice source, std::uint32_t destination) const {
    if (!ranks) return {{source.device, destination, 1}};
    return ranks->hop(source, destination, conditions.cuts_boundary);
  }
  std::uint64_t hop_bytes(std::uint32_t destination) const {
    return costs.boundary_bytes *
           (conditions.cuts_boundary ? ranks_per_stage() : ranks_per_stage(destination));
  }
  // True if the pass times of some device copy may differ from the planned ones.
  bool passes_vary() const {
    return conditions.variation.is_random() || !slowdown.empty() ||
           (uneven && uneven->replicas_differ());
  }
  // True if a device's passes of the same kind and stage differ between microbatches.
  bool tokens_vary() const { return uneven && uneven->tokens_differ; }
  bool microbatches_vary() const { return conditions.variation.is_random() || uneven; }
  // Factor by which the compute of a device copy is slower than planned.
  double straggler_factor(ReplicaDevice copy) const {
    return slowdown.empty() ? 1
                            : slowdown[std::size_t{copy.replica} * schedule.devices + copy.device];
  }
  cluster::Host* host(ReplicaDevice copy, std::uint32_t member = 0) const {
    return hosts[rank(copy, member)];
  }
};

}  // namespace pipewright::execution
