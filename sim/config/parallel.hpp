#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// The axes along which ranks are cut, the fastest first in an order.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };
inline constexpr int axes = 5;

// How ranks of cp attend to each other's keys and values, by the names of Transformer Engine's
// cp_comm_type: passed on from rank to rank (arXiv 2310.01889), all gathered before (Llama 3, arXiv
// 2407.21783), or exchanged for parts of the heads (arXiv 2309.14509).
enum class ContextComm : std::uint8_t { p2p, all_gather, a2a };
inline constexpr std::array<std::string_view, 3> context_comm_names{"p2p", "all_gather", "a2a"};

// The layout of a job over its GPUs: tp * cp * dp * pp of them. Layers with experts lay the same
// ranks of a stage out anew, as Megatron-Core's parallel folding does (arXiv 2504.14960): etp * ep
// * edp of them, where etp ranks share each expert and edp have the same experts.
struct Parallel {
  Located<std::uint32_t> tp{1, {}};
  Located<std::uint32_t> cp{1, {}};
  ContextComm cp_comm = ContextComm::p2p;
  Located<std::uint32_t> ep{1, {}};
  std::optional<Located<std::uint32_t>> etp;  // else tp
  Located<std::uint32_t> dp{1, {}};
  Located<std::uint32_t> pp{1, {}};  // the scenario's devices
  bool sequence = false;             // sequence parallelism over the ranks of tp
  std::uint32_t zero = 0;            // ZeRO level, 0 to 3
  // As torchtitan's dp_shard and dp_replicate: dp is shard * replicate. What ZeRO cuts lies over
  // shard * cp ranks, and `replicate` copies of these sum up their shards of gradients. Either is
  // there if the other is.
  std::optional<Located<std::uint32_t>> shard;
  std::optional<Located<std::uint32_t>> replicate;
  std::optional<bool> reshard_after_forward;
  std::array<Axis, axes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};

  std::uint32_t ranks_per_stage() const {
    return tp.value * cp.value;
  }  // GPUs of a pipeline device
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
