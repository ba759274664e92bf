#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Algorithm of a collective. `automatic` leaves the choice to NCCL's own tuning model.
// sim/execution/collectives/algorithm_choice.cpp explains the algorithms.
enum class Algorithm : std::uint8_t {
  automatic,
  ring,
  tree,
  hierarchical,
  direct,
  nvls,
  sharp,
  torus
};

// Names of the algorithms in scenario files, options and reports, in the order of the enumeration.
inline constexpr auto algorithm_names = std::to_array<std::string_view>(
    {"automatic", "ring", "tree", "hierarchical", "direct", "nvls", "sharp", "torus"});
static_assert(algorithm_names.size() == static_cast<std::size_t>(Algorithm::torus) + 1);

std::string_view to_string(Algorithm algorithm);
std::optional<Algorithm> parse_algorithm(std::string_view name);
// Returns the list of algorithm names for messages: "automatic, ring, .. or sharp".
std::string algorithm_list();

// Returns where an algorithm's data is reduced in switches: "inside" nodes (NVLink SHARP) or
// "between" them (SHARP). No value: the GPUs reduce, and the algorithm needs no such switches.
std::optional<std::string_view> switches_of(Algorithm algorithm);

// Default number of SMs that an NCCL kernel occupies: one per channel between nodes of eight GPUs.
// MLPerf configurations reserve as many (NVTE_EXT_MARGIN_SM). Real kernels take 1 to 4 SMs with
// registered buffers or reductions in switches, and up to 32 inside a node.
inline constexpr std::uint32_t default_sms = 16;

enum class Detail : std::uint8_t { fast, full };

// Use of several equally short routes by a flow, over parallel spines or planes: `adaptive` loads
// each route by its rate, so that a slow cable gets less; `spread` loads all of them evenly, like a
// switch that sprays packets and ignores rates; `hash` picks one at each switch by a hash of the
// end points, like ECMP; `file` uses only the route that SimGrid finds in the platform file.
enum class MultipathBy : std::uint8_t { adaptive, spread, hash, file };
inline constexpr auto multipath_names =
    std::to_array<std::string_view>({"adaptive", "spread", "hash", "file"});

struct Multipath {
  MultipathBy by = MultipathBy::adaptive;
  std::uint32_t seed = 1;   // seed of the hash
  std::uint32_t flows = 1;  // hashed flows per pair of GPUs (NCCL_IB_QPS_PER_CONNECTION)

  bool operator==(const Multipath&) const = default;
};
inline constexpr std::string_view multipath_help =
    "choice among equally short routes: adaptive (all of them, by their rates), spread (all of "
    "them, evenly), hash:SEED:FLOWS (as ECMP), or file";
// Parses a choice of routes: "adaptive", "spread", "file", "hash", "hash:3", or "hash:3:4" (seed 3
// and 4 flows per pair of GPUs). Any other text gives no value.
std::optional<Multipath> parse_multipath(std::string_view text);

// Collective that sums up the gradients of ZeRO-1. After an all-reduce every rank has all sums, of
// which it uses those of its shard.
enum class ZeroGradients : std::uint8_t { reduce_scatter, all_reduce };
inline constexpr auto zero_gradients_names =
    std::to_array<std::string_view>({"reduce_scatter", "all_reduce"});

// Distribution of the updated weights of ZeRO-1 and ZeRO-2: one all-gather of all shards; one
// broadcast of each shard, one after the other; or one all-gather into a buffer, from which the
// host copies the part of each rank into each weight tensor, with a launch for each copy.
enum class ZeroWeights : std::uint8_t { all_gather, broadcast, all_gather_copies };
inline constexpr auto zero_weights_names =
    std::to_array<std::string_view>({"all_gather", "broadcast", "all_gather_copies"});

// Options of communication: order, overlap and algorithms. The names are those of Megatron-LM's
// options.
struct Communication {
  bool overlap_p2p = true;           // passes overlap transfers of boundary tensors
  bool overlap_grad_reduce = true;   // buckets are reduced as soon as their gradients are complete
  bool overlap_param_gather = true;  // ZeRO-1, 2: a stage gathers weights before its first forward
  ZeroGradients zero_gradients = ZeroGradients::reduce_scatter;
  ZeroWeights zero_weights = ZeroWeights::all_gather;
  bool tp_comm_overlap = false;  // tensor-parallel collectives overlap their matrix products
  // Tensor-parallel all-reduces of backward passes run while the weight gradient is computed.
  bool async_tensor_model_parallel_allreduce = true;
  bool scatter_gather = true;           // every rank of tp sends a part of a boundary tensor
  std::optional<std::uint64_t> bucket;  // gradient bytes per reduction
  std::uint32_t gradient_bytes = 4;     // bytes per reduced element
  Algorithm all_reduce = Algorithm::automatic;
  std::optional<std::uint32_t> nccl;  // 27 for version 2.27; default: that of the cluster file
  // Processors (SMs, CUs) that a collective takes away from compute at the same time.
  std::optional<std::uint32_t> sms;
  std::optional<double> overlap_slowdown;  // slowdown of passes during collectives
  bool global_norm = true;  // gradient clipping makes all devices wait for each other
  Detail detail = Detail::fast;
  Multipath multipath;
};

// Returns whether gradients are summed up for every rank, instead of each rank's shard, with this
// level of ZeRO.
inline bool sums_for_all_ranks(std::uint32_t zero, const Communication& communication) {
  return zero == 0 || (zero == 1 && communication.zero_gradients == ZeroGradients::all_reduce);
}

// Parses the minor number of an NCCL 2 version: "2.27" and "2.27.3" give 27. Any other text gives
// no value.
std::optional<std::uint32_t> parse_nccl(std::string_view text);

// Bytes of gradients in a bucket. Default of Megatron-LM: 40 M parameters, or 1 M per replica if
// that is more.
std::uint64_t bucket_bytes(const Communication& communication, std::uint32_t replicas);
// Parameters whose gradients fill the scenario's bucket; empty if it has no bucket, or if the
// bucket is no whole number of gradients.
std::optional<std::uint64_t> bucket_parameters(const Communication& communication);

Communication read_communication(const Field& field);
std::vector<KeyRow> communication_keys();

}  // namespace pipewright::config
