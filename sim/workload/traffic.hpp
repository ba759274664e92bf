#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/pass.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/variation.hpp"
#include "sim/workload/dispatch.hpp"

// What the ranks of a hybrid-parallel job say to each other.
namespace pipewright::workload {

// Who takes part. A rank is in one group of each kind.
enum class Group : std::uint8_t {
  tp,
  cp,
  cp_a2a,  // of cp: ranks that deal out heads among themselves
  cp_p2p,  // of cp: ranks with the same heads
  ep,
  etp,        // ranks that share each expert
  dp,         // ranks with the same part of the dense model: dp * cp
  edp,        // ranks with the same experts: tp * cp * dp / (etp * ep)
  embedding,  // the first and the last stage, where both hold the same embedding
  pp,         // ranks of a pipeline, one of each device
  world,
  shard,             // of dp: ranks that share a part of the dense model in shards
  replicate,         // of dp: ranks with the same shard
  expert_shard,      // of edp, likewise
  expert_replicate,  // likewise
};
inline constexpr std::array<std::string_view, 15> group_names{
    "tp",    "cp",    "cp-a2a",    "cp-p2p",       "ep",
    "etp",   "dp",    "edp",       "embedding",    "pp",
    "world", "shard", "replicate", "expert-shard", "expert-replicate"};
inline constexpr int group_kinds = group_names.size();
inline std::string_view name_of(Group group) {
  return group_names.at(static_cast<std::size_t>(group));
}

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  ring_exchange,  // every rank sees every other's part, one after the other (ring attention)
  broadcast,      // from the first rank
  reduce,         // to the first rank
  gather,         // a part from each rank, to the first
  scatter,        // a part to each rank, from the first
  send_recv,      // from each rank to the next, and from the last to the first
  pairwise,       // between rank i and rank i + n/2
  dispatch,  // tokens to the nodes that have their experts, once each, and there to their ranks; or
             // back, summed up on the way
};
inline constexpr std::array<std::string_view, 12> collective_names{
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "ring exchange", "broadcast",
    "reduce",     "gather",         "scatter",    "send-recv",  "pairwise",      "dispatch"};
inline constexpr int collective_kinds = collective_names.size();
inline std::string_view name_of(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

// A collective, whatever its bytes.
struct Operation {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operation(Collective collective, const Dispatch& tokens = {})
      : kind(collective), dispatch(tokens) {}

  Collective kind;
  Dispatch dispatch;  // of Collective::dispatch
  // Of all_to_all: the part of the bytes that each rank has for each, row by row of the senders;
  // empty: equal parts.
  std::vector<double> parts;

  auto operator<=>(const Operation&) const = default;
};

// `bytes` as nccl-tests counts them: all_reduce: of the buffer; all_gather, reduce_scatter,
// ring_exchange, gather, scatter: of all ranks' parts together; all_to_all: of what one rank has,
// of which each rank, itself included, gets an equal part, or what `parts` say; broadcast, reduce,
// send_recv, pairwise: of a message; dispatch: of one rank's tokens.
struct Call {
  Group group = Group::tp;
  Operation collective = Collective::all_reduce;
  std::uint64_t bytes = 0;
  std::uint32_t times = 1;  // in one pass
  double overlappable_compute =
      0;                  // seconds of the pass's compute, all calls, beside which they can run
  bool combines = false;  // of dispatch: tokens come back from their experts

  // Whether it sends tokens to experts or back, which has a stream of its own.
  bool is_dispatch() const { return group == Group::ep; }
  // "all-gather"; of tokens "dispatch" or "combine", however they are sent.
  std::string_view name() const {
    return is_dispatch() ? combines ? "combine" : "dispatch" : name_of(collective.kind);
  }

  bool operator==(const Call&) const = default;
};

// Of one virtual stage, on one GPU.
struct StageTraffic {
  std::array<std::vector<Call>, schedules::pass_kinds> inside;  // a pass waits for them
  std::vector<Call>& operator[](schedules::PassKind kind) {
    return inside[static_cast<std::size_t>(kind)];
  }
  const std::vector<Call>& operator[](schedules::PassKind kind) const {
    return inside[static_cast<std::size_t>(kind)];
  }
  std::uint64_t parameters = 0;            // dense ones, whose gradients go over Group::dp
  std::uint64_t expert_parameters = 0;     // and over Group::edp
  std::uint64_t embedding_parameters = 0;  // of the dense ones: tied, so over Group::embedding too
};

// Under which a schedule's passes and its traffic run.
struct Conditions {
  config::Communication communication;
  config::Variation variation;
  std::uint32_t zero = 0;  // ZeRO level
  // ZeRO-3: whether weights are gathered for a backward pass anew, else they are whole from a
  // microbatch's forward pass on.
  bool reshards = true;
  bool by_layer = false;  // ZeRO-3: gradients are reduced as weights are gathered, not by buckets
  // Whether each rank of tp sends its part of a boundary tensor on, else the whole.
  bool cuts_boundary = false;

  // ZeRO-3: which passes have weights gathered, and after which these go.
  bool gathers_for(schedules::PassKind kind) const {
    return reshards ? kind != schedules::PassKind::weight_grad
                    : kind == schedules::PassKind::forward;
  }
  bool drops_after(schedules::PassKind kind) const {
    return reshards ? gathers_for(kind) : schedules::sends_gradient(kind);
  }

  // ZeRO-1 and 2: an iteration's weights are updated in shards, which are gathered once, before the
  // first forwards of the next or at its own end.
  bool gathers_before() const { return gathers_once() && communication.overlap_param_gather; }
  bool gathers_after() const { return gathers_once() && !communication.overlap_param_gather; }
  bool gathers_once() const { return zero == 1 || zero == 2; }
};

}  // namespace pipewright::workload
