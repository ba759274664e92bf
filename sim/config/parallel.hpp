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

// Axes of parallelism. An order of ranks lists them with the innermost axis first.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };
inline constexpr int axes = 5;

// Method by which the ranks of cp exchange keys and values, with the names of Transformer Engine's
// cp_comm_type. p2p passes them around a ring (arXiv 2310.01889), all_gather gathers them first
// (Llama 3, arXiv 2407.21783), a2a exchanges them for a part of the heads (arXiv 2309.14509), and
// a2a+p2p uses a2a inside small groups and a ring between groups (arXiv 2405.07719, 2406.18485).
enum class ContextComm : std::uint8_t { p2p, all_gather, a2a, a2a_p2p };
inline constexpr std::array<std::string_view, 4> context_comm_names{"p2p", "all_gather", "a2a",
                                                                    "a2a+p2p"};

// Assignment of a sequence's tokens to the ranks of cp. A rank has with head_tail an early and a
// late part, which balances causal attention, and with none a contiguous part, so that the last
// rank has most work.
enum class ContextBalance : std::uint8_t { head_tail, none };
inline constexpr std::array<std::string_view, 2> context_balance_names{"head_tail", "none"};

// Sharding of embedding and output layer over the pipeline devices. Without it they are on the
// first and the last stage; vocab_1 and vocab_2 are the algorithms of arXiv 2411.05288 with two
// barriers per microbatch and with one. Interlaced: all devices compute the output layer of a
// microbatch at the same time, as ranks of tp would, and no pass hides their collectives (nnScaler,
// Lin et al., OSDI 2024).
enum class VocabularyCut : std::uint8_t { none, vocab_1, vocab_2, interlaced };
inline constexpr std::array<std::string_view, 4> vocabulary_cut_names{"none", "vocab-1", "vocab-2",
                                                                      "interlaced"};

// Number of stages whose weights FSDP may start to gather ahead of a pass, if some stages of a
// device take turns: as many as stay gathered, or fewer on the first pipeline ranks
// (schedules::automatic_lookahead(), PyTorch's "auto").
enum class UnshardRule : std::uint8_t { full, by_rank };
inline constexpr std::array<std::string_view, 2> unshard_rule_names{"full", "by_rank"};
struct UnshardLookahead {
  UnshardRule rule = UnshardRule::full;
  std::vector<Located<std::uint32_t>> by_device;  // Empty: the rule decides.
};

// State that the copies of a shard divide among themselves: none, or the optimizer state, as in
// Megatron-FSDP with outer_dp_sharding_strategy optim (hybrid FSDP).
enum class OuterSharding : std::uint8_t { none, optimizer };
inline constexpr std::array<std::string_view, 2> outer_sharding_names{"none", "optimizer"};

// Layout of a job over tp * cp * dp * pp GPUs. In layers with experts the ranks of a stage are
// arranged differently, as etp * ep * edp, where etp ranks share an expert and edp ranks have the
// same experts (parallel folding of Megatron-Core, arXiv 2504.14960).
struct Parallel {
  Located<std::uint32_t> tp{1, {}};
  // Value of tp for each pipeline device if they differ; `tp` is the largest of them. Empty: all
  // devices have `tp`.
  std::vector<Located<std::uint32_t>> tp_by_device;
  Located<std::uint32_t> cp{1, {}};
  ContextComm cp_comm = ContextComm::p2p;
  // Sizes of the two levels of a2a+p2p: number of ranks that exchange heads, and number of such
  // groups in a ring.
  std::vector<Located<std::uint32_t>> cp_sizes;
  ContextBalance cp_balance = ContextBalance::head_tail;
  Located<std::uint32_t> ep{1, {}};
  std::optional<Located<std::uint32_t>> etp;  // default: tp
  Located<std::uint32_t> dp{1, {}};
  Located<std::uint32_t> pp{1, {}};  // the scenario's devices
  VocabularyCut vocabulary = VocabularyCut::none;
  bool cuts_vocabulary() const { return vocabulary != VocabularyCut::none && pp.value > 1; }
  // Number of barriers per microbatch between the passes S and T of a split vocabulary
  // (schedules::Schedule::barriers).
  std::uint32_t barriers() const {
    if (!cuts_vocabulary()) return 0;
    return vocabulary == VocabularyCut::vocab_2 ? 1 : 2;
  }
  bool sequence = false;   // sequence parallelism over the ranks of tp
  std::uint32_t zero = 0;  // ZeRO level, 0 to 3
  // Sizes of sharded and of replicated data parallelism, torchtitan's dp_shard and dp_replicate: dp
  // is shard * replicate. ZeRO shards over shard * cp ranks, and `replicate` copies reduce their
  // shards of gradients. Both have a value or neither.
  std::optional<Located<std::uint32_t>> shard;
  std::optional<Located<std::uint32_t>> replicate;
  std::optional<bool> reshard_after_forward;
  // FSDP in a pipeline: largest number of a device's stages whose weights are gathered at a time.
  // Empty: all stages of the device.
  std::optional<std::uint32_t> max_unsharded_stages;
  std::optional<UnshardLookahead> unshard_lookahead;
  OuterSharding outer_sharding = OuterSharding::none;
  bool shards_optimizer_over_copies() const { return outer_sharding == OuterSharding::optimizer; }
  // Megatron-Core's generalized tensor parallelism: numbers of ranks of dp that divide each weight
  // of a tp rank, and of an expert, and gather it for each use. With a value, `shard` is gtp, and
  // zero is 3.
  std::optional<Located<std::uint32_t>> gtp;
  std::optional<Located<std::uint32_t>> expert_gtp;
  // ZeRO-3: weights that are gathered ahead of the layer in use, in elements of one GPU: as many
  // whole layers as have at least this number of elements together. Empty: one layer.
  std::optional<std::uint32_t> gather_ahead;
  std::array<Axis, axes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};

  // Returns the layout with the `tp` of this pipeline device for all devices.
  Parallel on(std::uint32_t device) const;
  std::uint32_t tp_of(std::uint32_t device) const {
    return tp_by_device.empty() ? tp.value : tp_by_device[device].value;
  }
  // Describes tp by pipeline device: "8" or "8/8/4/4"; for long pipelines "8*12/4*4".
  std::string tp_text() const;
  // Number of GPUs of all pipeline devices and replicas; exact below 2^53.
  double gpus() const;
  // Number of GPUs of the largest pipeline device in one replica.
  std::uint32_t ranks_per_stage() const { return tp.value * cp.value; }
  // Number of adjacent ranks of cp that exchange heads by all-to-all; 1 if none do.
  std::uint32_t cp_a2a() const {
    if (cp_comm == ContextComm::a2a) return cp.value;
    return cp_comm == ContextComm::a2a_p2p && !cp_sizes.empty() ? cp_sizes.front().value : 1;
  }
  std::uint32_t replicates() const { return replicate ? replicate->value : 1; }
  // Returns whether ZeRO-3 frees gathered weights after forward passes and gathers them again for
  // backward passes. Pipelines of PyTorch keep them.
  bool reshards() const { return reshard_after_forward.value_or(!shard || pp.value == 1); }
  // Returns whether ZeRO-3 keeps weights gathered between passes: those of the whole device once
  // per iteration, or those of the next `max_unsharded_stages` stages. Gradients are then reduced
  // only once they are complete.
  bool keeps_weights() const { return zero == 3 && !reshards() && pp.value > 1; }
  std::uint32_t expert_tp() const { return etp ? etp->value : tp.value; }
  // Number of ranks of a stage, over all replicas.
  std::uint64_t ranks_of_stage() const { return std::uint64_t{ranks_per_stage()} * dp.value; }
  // Number of copies of each expert. The division is exact for a valid layout.
  std::uint64_t expert_replicas() const {
    return ranks_of_stage() / (std::uint64_t{expert_tp()} * ep.value);
  }
  // Number of copies of the shards of each expert.
  std::uint64_t expert_replicates() const {
    return expert_gtp ? expert_replicas() / expert_gtp->value : replicates();
  }
  // Numbers of ranks that divide each weight of a tp rank, and of an expert; 1 without GTP.
  std::uint32_t gtp_size() const { return gtp ? gtp->value : 1; }
  std::uint32_t expert_gtp_size() const { return expert_gtp ? expert_gtp->value : 1; }
};

// Reads the section `parallel` except pp, which becomes the scenario's key `devices`.
Parallel read_parallel(const Field& field);
std::vector<KeyRow> parallel_keys();

}  // namespace pipewright::config
