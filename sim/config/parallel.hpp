#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// The axes along which ranks are cut, the fastest first in an order.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };
inline constexpr int axes = 5;

// How ranks of cp attend to each other's keys and values, by the names of Transformer Engine's
// cp_comm_type: passed on from rank to rank (arXiv 2310.01889), all gathered before (Llama 3, arXiv
// 2407.21783), exchanged for parts of the heads (arXiv 2309.14509), or exchanged so inside of small
// groups and passed on between these (arXiv 2405.07719, 2406.18485).
enum class ContextComm : std::uint8_t { p2p, all_gather, a2a, a2a_p2p };
inline constexpr std::array<std::string_view, 4> context_comm_names{"p2p", "all_gather", "a2a",
                                                                    "a2a+p2p"};

// Which tokens of a sequence a rank of cp has: an early and a late part, with which causal
// attention is as much work on each, or those that follow one another, of which the last rank's
// see the most.
enum class ContextBalance : std::uint8_t { head_tail, none };
inline constexpr std::array<std::string_view, 2> context_balance_names{"head_tail", "none"};

// Where the output layer and the embedding are: on the last and the first stage, or cut over all
// pipeline devices, by the two algorithms of arXiv 2411.05288, whose passes meet at two barriers a
// microbatch or at one.
enum class VocabularyCut : std::uint8_t { none, vocab_1, vocab_2 };
inline constexpr std::array<std::string_view, 3> vocabulary_cut_names{"none", "vocab-1", "vocab-2"};

// The layout of a job over its GPUs: tp * cp * dp * pp of them. Layers with experts lay the same
// ranks of a stage out anew, as Megatron-Core's parallel folding does (arXiv 2504.14960): etp * ep
// * edp of them, where etp ranks share each expert and edp have the same experts.
struct Parallel {
  Located<std::uint32_t> tp{1, {}};
  // Of each pipeline device, where they differ: `tp` is the largest then. Empty: all have `tp`.
  std::vector<Located<std::uint32_t>> tp_by_device;
  Located<std::uint32_t> cp{1, {}};
  ContextComm cp_comm = ContextComm::p2p;
  // Of a2a+p2p alone: ranks of cp that deal out heads, and groups of them in a ring.
  std::vector<Located<std::uint32_t>> cp_sizes;
  ContextBalance cp_balance = ContextBalance::head_tail;
  Located<std::uint32_t> ep{1, {}};
  std::optional<Located<std::uint32_t>> etp;  // else tp
  Located<std::uint32_t> dp{1, {}};
  Located<std::uint32_t> pp{1, {}};  // the scenario's devices
  VocabularyCut vocabulary = VocabularyCut::none;
  bool cuts_vocabulary() const { return vocabulary != VocabularyCut::none && pp.value > 1; }
  // Microbatches whose forwards wait at its barriers, one each.
  std::uint32_t barriers() const {
    if (!cuts_vocabulary()) return 0;
    return vocabulary == VocabularyCut::vocab_1 ? 2 : 1;
  }
  bool sequence = false;   // sequence parallelism over the ranks of tp
  std::uint32_t zero = 0;  // ZeRO level, 0 to 3
  // As torchtitan's dp_shard and dp_replicate: dp is shard * replicate. What ZeRO cuts lies over
  // shard * cp ranks, and `replicate` copies of these sum up their shards of gradients. Either is
  // there if the other is.
  std::optional<Located<std::uint32_t>> shard;
  std::optional<Located<std::uint32_t>> replicate;
  std::optional<bool> reshard_after_forward;
  std::array<Axis, axes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};

  // Of the GPUs of one device alone, whose tp is `tp`.
  Parallel on(std::uint32_t device) const;
  std::uint32_t tp_of(std::uint32_t device) const {
    return tp_by_device.empty() ? tp.value : tp_by_device[device].value;
  }
  // "8", or "8/8/4/4", of long pipelines "8*12/4*4".
  std::string tp_text() const;
  // Of all devices and replicas. Exact below 2^53, which is far above what any cluster has.
  double gpus() const;
  // GPUs of a pipeline device, the largest.
  std::uint32_t ranks_per_stage() const { return tp.value * cp.value; }
  // Ranks of cp that deal out heads among themselves, which stand next to each other.
  std::uint32_t cp_a2a() const {
    if (cp_comm == ContextComm::a2a) return cp.value;
    return cp_comm == ContextComm::a2a_p2p && !cp_sizes.empty() ? cp_sizes.front().value : 1;
  }
  std::uint32_t replicates() const { return replicate ? replicate->value : 1; }
  // ZeRO-3: whether weights are gathered anew for a backward pass. PyTorch's pipelines keep them.
  bool reshards() const { return reshard_after_forward.value_or(!shard || pp.value == 1); }
  // ZeRO-3 in a pipeline that reshards nothing: an iteration's weights are gathered once, stay
  // whole beside their shards, and gradients are reduced when they are complete.
  bool keeps_weights() const { return zero == 3 && !reshards() && pp.value > 1; }
  std::uint32_t expert_tp() const { return etp ? etp->value : tp.value; }
  // Of all replicas' copies of a device.
  std::uint64_t ranks_of_stage() const { return std::uint64_t{ranks_per_stage()} * dp.value; }
  // A whole number where the layout is one.
  std::uint64_t expert_replicas() const {
    return ranks_of_stage() / (std::uint64_t{expert_tp()} * ep.value);
  }
};

// Without pp, which is the scenario's `devices`.
Parallel read_parallel(const Field& field);
std::vector<KeyRow> parallel_keys();

}  // namespace pipewright::config
