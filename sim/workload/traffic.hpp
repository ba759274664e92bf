#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedules/pass.hpp"
#include "schedules/unshard.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/variation.hpp"
#include "sim/workload/dispatch.hpp"

// Describes the communication between the ranks of a hybrid-parallel job: process groups,
// collectives and the calls of each stage.
namespace pipewright::workload {

// Kinds of process groups. Every rank is in one group of each kind.
enum class Group : std::uint8_t {
  tp,
  cp,
  cp_a2a,  // subset of cp: ranks that exchange heads by all-to-all
  cp_p2p,  // subset of cp: ranks in a ring, with the same heads
  ep,
  etp,        // ranks that share each expert
  dp,         // ranks with the same part of the dense model: dp * cp
  edp,        // ranks with the same experts: tp * cp * dp / (etp * ep)
  embedding,  // first and last stage, if both hold the same embedding
  pp,         // ranks of a pipeline, one per device
  world,
  shard,             // subset of dp: ranks whose shards form a part of the dense model
  replicate,         // subset of dp: ranks with the same shard
  expert_shard,      // subset of edp: ranks whose shards form the same experts
  expert_replicate,  // subset of edp: ranks with the same shard
};
inline constexpr std::array<std::string_view, 15> group_names{
    "tp",    "cp",    "cp-a2a",    "cp-p2p",       "ep",
    "etp",   "dp",    "edp",       "embedding",    "pp",
    "world", "shard", "replicate", "expert-shard", "expert-replicate"};
inline constexpr int group_kinds = group_names.size();
inline std::string_view name_of(Group group) { return base::name_of(group_names, group); }

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  ring_exchange,  // every rank gets the parts of all ranks in turn (ring attention)
  broadcast,      // from the first rank
  reduce,         // to the first rank
  gather,         // a part from each rank, to the first
  scatter,        // a part to each rank, from the first
  send_recv,      // each rank to the next, the last one to the first
  pairwise,       // between rank i and rank i + n/2
  // Sends each token once to each node that has experts for it, and from there to the ranks; or
  // sends tokens back and adds up their copies on the way.
  dispatch,
};
inline constexpr std::array<std::string_view, 12> collective_names{
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "ring exchange", "broadcast",
    "reduce",     "gather",         "scatter",    "send-recv",  "pairwise",      "dispatch"};
inline constexpr int collective_kinds = collective_names.size();
inline std::string_view name_of(Collective collective) {
  return base::name_of(collective_names, collective);
}

// Kind of a collective and, if they differ, the shares of its ranks, but not its number of bytes.
struct Operation {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operation(Collective collective, const Dispatch& tokens = {})
      : kind(collective), dispatch(tokens) {}

  Collective kind;
  Dispatch dispatch;  // used by Collective::dispatch
  // Share of its bytes that each rank of an all_to_all sends to each rank, as a matrix with a row
  // for each sender. Empty: equal shares.
  std::vector<double> parts;

  auto operator<=>(const Operation&) const = default;
};

// Collective that a pass calls. The meaning of `bytes` is that of nccl-tests. all_reduce: the
// buffer. all_gather, reduce_scatter, ring_exchange, gather, scatter: the parts of all ranks
// together. all_to_all: what one rank has, of which every rank including itself gets an equal part
// or the share in `parts`. broadcast, reduce, send_recv, pairwise: one message. dispatch: the
// tokens of one rank.
struct Call {
  Group group = Group::tp;
  Operation collective = Collective::all_reduce;
  std::uint64_t bytes = 0;
  std::uint32_t times = 1;  // calls in one pass
  // Seconds of the pass's compute during which the calls can run; the sum over all `times` calls.
  double overlappable_compute = 0;
  bool combines = false;  // a dispatch that brings tokens back from their experts

  // Returns whether the call sends tokens to experts or back. Such calls run in a stream of their
  // own, beside other collectives.
  bool is_dispatch() const { return group == Group::ep; }
  // Returns a name such as "all-gather". Calls that send tokens to experts or back are named
  // "dispatch" or "combine", whatever their collective.
  std::string_view name() const {
    return is_dispatch() ? combines ? "combine" : "dispatch" : name_of(collective.kind);
  }

  bool operator==(const Call&) const = default;
};

// Collectives that one GPU of a virtual stage takes part in.
struct StageTraffic {
  std::array<std::vector<Call>, schedules::pass_kinds> inside;  // a pass waits for them
  std::vector<Call>& operator[](schedules::PassKind kind) {
    return inside[static_cast<std::size_t>(kind)];
  }
  const std::vector<Call>& operator[](schedules::PassKind kind) const {
    return inside[static_cast<std::size_t>(kind)];
  }
  // Trained parameters, with the padding of their buffers: dense ones, whose gradients go over
  // Group::dp, and those of experts, whose gradients go over Group::edp.
  std::uint64_t parameters = 0;
  std::uint64_t expert_parameters = 0;
  std::uint32_t buckets = 0;  // buckets of gradients; 0: as many as communication.bucket makes
  // Bytes of frozen weights, which are gathered if they are sharded. 0: every rank has them whole.
  std::uint64_t frozen_bytes = 0;
  std::uint64_t frozen_expert_bytes = 0;
  // Bytes by which gathered weights of other types than the recipe's exceed weights of its type.
  double other_gathered = 0;
  double expert_other_gathered = 0;
  // Number of dense parameters that are tied to another stage's, so that their gradients are also
  // reduced over Group::embedding.
  std::uint64_t embedding_parameters = 0;
};

// Settings of a run that apply to all of its passes and communication.
struct Conditions {
  config::Communication communication;
  config::Variation variation;
  std::uint32_t zero = 0;  // ZeRO level
  // ZeRO-3: true if weights are dropped after a forward pass and gathered again for the backward
  // pass; false if they stay whole in between.
  bool reshards = true;
  // ZeRO-3: true if the gradients of each layer are reduced together, like its weights are
  // gathered; false if gradients are reduced in buckets.
  bool by_layer = false;
  // True if each rank of tp sends only its part of a boundary tensor instead of all of it.
  bool cuts_boundary = false;
  // FSDP in a pipeline: which of its stages each device gathers at a time. Stages are then gathered
  // again during an iteration (schedules/unshard.hpp). Empty: each stage is gathered once. With
  // windows, `zero` is 1, and gradients are reduced after the last pass.
  std::vector<schedules::UnshardWindow> unshard_windows = {};
  // ZeRO-3 with several copies of each shard: true if the copies sum up their gradients only after
  // the last microbatch of an iteration, and true if they divide the optimizer state among
  // themselves, so that they gather their shards of updated weights before the first pass.
  bool sums_copies_once = false;
  bool shards_copies = false;
  // Bytes of a gradient that is reduced to shards, if communication.gradient_bytes holds only for
  // the sums over copies; 0: it holds for both.
  std::uint64_t shard_gradient_bytes = 0;
  // ZeRO-3: how often a backward pass gathers each weight: once more if what it recomputes gathers
  // on its own.
  std::uint32_t backward_gathers = 1;

  // ZeRO-3: return whether and how often weights are gathered for a pass of this kind, and whether
  // they are dropped after it.
  bool gathers_for(schedules::PassKind kind) const {
    return reshards ? kind != schedules::PassKind::weight_grad
                    : kind == schedules::PassKind::forward;
  }
  std::uint32_t gathers_in(schedules::PassKind kind) const {
    return schedules::sends_gradient(kind) ? backward_gathers : 1;
  }
  bool drops_after(schedules::PassKind kind) const {
    return reshards ? gathers_for(kind) : schedules::sends_gradient(kind);
  }

  // ZeRO-1 and ZeRO-2: each rank updates a shard of the weights, and the shards are gathered once
  // per iteration: before the first forward passes of the next one or at the end of this one.
  bool gathers_before() const { return gathers_once() && communication.overlap_param_gather; }
  bool gathers_after() const { return gathers_once() && !communication.overlap_param_gather; }
  bool gathers_once() const { return (zero == 1 || zero == 2) && unshard_windows.empty(); }

  // Returns whether every rank gets the sums of all gradients, instead of those of its shard.
  bool reduces_to_all() const {
    return config::sums_for_all_ranks(zero, communication) && (zero == 0 || gathers_once());
  }
  // Returns whether the shards of updated weights are broadcast one after the other.
  bool broadcasts_weights() const {
    return gathers_once() && communication.zero_weights == config::ZeroWeights::broadcast;
  }
};

}  // namespace pipewright::workload
