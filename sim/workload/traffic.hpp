#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/pass.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/variation.hpp"
#include "sim/workload/dispatch.hpp"

// Communication between the ranks of a hybrid-parallel job.
namespace pipewright::workload {

// Process groups. Every rank is in one group of each kind.
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
  // Sends tokens once to each node that has experts of theirs, and there on to the ranks; or sends
  // them back, summed up on the way.
  dispatch,
};
inline constexpr std::array<std::string_view, 12> collective_names{
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "ring exchange", "broadcast",
    "reduce",     "gather",         "scatter",    "send-recv",  "pairwise",      "dispatch"};
inline constexpr int collective_kinds = collective_names.size();
inline std::string_view name_of(Collective collective) {
  return base::name_of(collective_names, collective);
}

// Kind of a collective with the shares of its ranks, independent of the number of bytes.
struct Operation {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operation(Collective collective, const Dispatch& tokens = {})
      : kind(collective), dispatch(tokens) {}

  Collective kind;
  Dispatch dispatch;  // used by Collective::dispatch
  // Share of the bytes that each rank sends to each rank in an all_to_all, row by row of the
  // senders. Empty: equal shares.
  std::vector<double> parts;

  auto operator<=>(const Operation&) const = default;
};

// Collective that a pass calls. `bytes` is what nccl-tests counts. all_reduce: the buffer.
// all_gather, reduce_scatter, ring_exchange, gather, scatter: the parts of all ranks together.
// all_to_all: what one rank has, of which every rank including itself gets an equal part or the
// share in `parts`. broadcast, reduce, send_recv, pairwise: one message. dispatch: the tokens of
// one rank.
struct Call {
  Group group = Group::tp;
  Operation collective = Collective::all_reduce;
  std::uint64_t bytes = 0;
  std::uint32_t times = 1;  // calls in one pass
  // Seconds of the pass's compute beside which the calls can run, for all calls together.
  double overlappable_compute = 0;
  bool combines = false;  // a dispatch that brings tokens back from their experts

  // Returns whether the call sends tokens to experts or back. These calls have a stream of their
  // own.
  bool is_dispatch() const { return group == Group::ep; }
  // Name such as "all-gather". Calls that send tokens are named "dispatch" or "combine", whatever
  // their collective.
  std::string_view name() const {
    return is_dispatch() ? combines ? "combine" : "dispatch" : name_of(collective.kind);
  }

  bool operator==(const Call&) const = default;
};

// Communication of one virtual stage, on one GPU.
struct StageTraffic {
  std::array<std::vector<Call>, schedules::pass_kinds> inside;  // a pass waits for them
  std::vector<Call>& operator[](schedules::PassKind kind) {
    return inside[static_cast<std::size_t>(kind)];
  }
  const std::vector<Call>& operator[](schedules::PassKind kind) const {
    return inside[static_cast<std::size_t>(kind)];
  }
  std::uint64_t parameters = 0;         // dense parameters, whose gradients go over Group::dp
  std::uint64_t expert_parameters = 0;  // gradients go over Group::edp
  // Part of the dense parameters that is tied: gradients also go over Group::embedding.
  std::uint64_t embedding_parameters = 0;
};

// Settings under which a schedule's passes and communication run.
struct Conditions {
  config::Communication communication;
  config::Variation variation;
  std::uint32_t zero = 0;  // ZeRO level
  // ZeRO-3: whether a backward pass gathers weights anew. Otherwise weights stay whole from a
  // microbatch's forward pass on.
  bool reshards = true;
  // ZeRO-3: gradients are reduced layer by layer, like weights are gathered, instead of by buckets.
  bool by_layer = false;
  // True if each rank of tp sends only its part of a boundary tensor instead of all of it.
  bool cuts_boundary = false;

  // ZeRO-3: whether weights are gathered for a pass of this kind, and whether they are dropped
  // after it.
  bool gathers_for(schedules::PassKind kind) const {
    return reshards ? kind != schedules::PassKind::weight_grad
                    : kind == schedules::PassKind::forward;
  }
  bool drops_after(schedules::PassKind kind) const {
    return reshards ? gathers_for(kind) : schedules::sends_gradient(kind);
  }

  // ZeRO-1 and ZeRO-2: an iteration updates weights in shards, which are gathered once, before the
  // first forward passes of the next iteration or at the end of this one.
  bool gathers_before() const { return gathers_once() && communication.overlap_param_gather; }
  bool gathers_after() const { return gathers_once() && !communication.overlap_param_gather; }
  bool gathers_once() const { return zero == 1 || zero == 2; }
};

}  // namespace pipewright::workload
