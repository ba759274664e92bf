#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/stage_costs.hpp"
#include "sim/workload/traffic.hpp"
#include "sim/workload/uneven.hpp"

namespace pipewright::execution {

using workload::ReplicaDevice;

enum class EngineKind : std::uint8_t { simgrid, timing };

// The least that one of a device's GPUs has, of all replicas.
struct Capacity {
  std::uint64_t bytes = 0;              // 0: none of them says
  const cluster::Host* host = nullptr;  // the first that has as little
};

// One run: this schedule, at these costs, on these hosts.
struct Job {
  const schedules::Schedule& schedule;
  const workload::StageCosts& costs;
  const cluster::Cluster& cluster;
  std::vector<cluster::Host*> hosts;  // of each rank
  schedules::P2p p2p = schedules::P2p::eager;
  std::optional<workload::Ranks> ranks = {};  // none: ranks are devices
  workload::Conditions conditions = {};
  bool symmetric = false;               // one replica is simulated, and its flows stand for all
  std::vector<double> slowdown = {};    // of passes, by replica and device; empty: none
  std::vector<Capacity> capacity = {};  // by device; empty: unknown
  std::shared_ptr<const workload::Uneven> uneven = {};  // null: all microbatches are alike
  trace::Assumed assumed = {};                          // what the costs and the capacity rest on

  // Whether devices wait for the norm of all gradients before the optimizer's step. Asynchronous
  // schedules go on with older weights while others still compute.
  bool waits_for_norm() const {
    return conditions.communication.global_norm && schedule.weight_versions == 1;
  }
  // Whether the collectives within passes are simulated one by one.
  bool has_full_detail() const { return conditions.communication.detail == config::Detail::full; }
  // ZeRO-3: whether each F, I, B and R has its weights gathered for it.
  bool gathers_for_passes() const {
    return conditions.zero >= 3 && ranks && !costs.traffic.empty() &&
           (ranks->group_size(workload::Group::shard) > 1 ||
            ranks->group_size(workload::Group::expert_shard) > 1);
  }
  // How many times as long compute of a stage's passes takes while collectives run beside it.
  double overlap_slowdown(schedules::PassKind kind, std::uint32_t stage) const {
    if (conditions.communication.overlap_slowdown)
      return *conditions.communication.overlap_slowdown;
    const auto& of_stage = costs.overlap_slowdown[static_cast<std::size_t>(kind)];
    return of_stage.empty() ? 1 : of_stage[stage];
  }
  double dispatch_slowdown(schedules::PassKind kind, std::uint32_t stage) const {
    const auto& of_stage = costs.dispatch_slowdown[static_cast<std::size_t>(kind)];
    return of_stage.empty() || conditions.communication.overlap_slowdown
               ? overlap_slowdown(kind, stage)
               : of_stage[stage];
  }
  // Whether there may be passes that collectives slow down.
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
  // Who sends what of a boundary tensor, in parts of `boundary_bytes`; and all of it, in bytes.
  std::vector<workload::Ranks::Part> hop(ReplicaDevice source, std::uint32_t destination) const {
    if (!ranks) return {{source.device, destination, 1}};
    return ranks->hop(source, destination, conditions.cuts_boundary);
  }
  std::uint64_t hop_bytes(std::uint32_t destination) const {
    return costs.boundary_bytes *
           (conditions.cuts_boundary ? ranks_per_stage() : ranks_per_stage(destination));
  }
  // Whether passes take other times than planned.
  bool passes_vary() const {
    return conditions.variation.is_random() || !slowdown.empty() ||
           (uneven && uneven->replicas_differ());
  }
  // Whether a device's passes of one kind and stage differ from microbatch to microbatch.
  bool tokens_vary() const { return uneven && uneven->tokens_differ; }
  bool microbatches_vary() const { return conditions.variation.is_random() || uneven; }
  // How many times as long as planned the compute of a device copy takes.
  double straggler_factor(ReplicaDevice copy) const {
    return slowdown.empty() ? 1
                            : slowdown[std::size_t{copy.replica} * schedule.devices + copy.device];
  }
  cluster::Host* host(ReplicaDevice copy, std::uint32_t member = 0) const {
    return hosts[rank(copy, member)];
  }
};

}  // namespace pipewright::execution
