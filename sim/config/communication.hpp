#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// By which algorithm a collective goes over its ranks; `automatic` leaves the choice to NCCL's own
// model of what each takes. How each goes: sim/execution/collectives/algorithm_choice.cpp.
enum class Algorithm : std::uint8_t { automatic, ring, tree, hierarchical, direct, nvls, sharp };

// Their names in scenario files, options and reports, in the order of the enumeration.
inline constexpr auto algorithm_names = std::to_array<std::string_view>(
    {"automatic", "ring", "tree", "hierarchical", "direct", "nvls", "sharp"});
static_assert(algorithm_names.size() == static_cast<std::size_t>(Algorithm::sharp) + 1);

std::string_view to_string(Algorithm algorithm);
std::optional<Algorithm> parse_algorithm(std::string_view name);
// "automatic, ring, .. or sharp".
std::string algorithm_list();

// Where the switches are that add up for an algorithm: inside nodes (NVLink SHARP) or between them
// (SHARP). None: ranks add up, so that it needs no such switches.
std::optional<std::string_view> switches_of(Algorithm algorithm);

// SMs that a kernel of NCCL takes unless told: its channels between nodes of eight GPUs, of which
// each is a block of threads; what MLPerf's configurations leave to them as well
// (NVTE_EXT_MARGIN_SM). It may take 1 to 4 where buffers are registered or switches add up, and up
// to 32 inside a node.
inline constexpr std::uint32_t default_sms = 16;

enum class Detail : std::uint8_t { fast, full };

// How a flow goes where several ways are equally short, over parallel spines or planes: evenly over
// all of them, as adaptive routing does; over one that a hash of its ends picks at each switch, as
// ECMP does; or over the one that SimGrid takes for the platform file.
enum class MultipathBy : std::uint8_t { spread, hash, file };
inline constexpr auto multipath_names = std::to_array<std::string_view>({"spread", "hash", "file"});

struct Multipath {
  MultipathBy by = MultipathBy::spread;
  std::uint32_t seed = 1;   // hash: of the switches
  std::uint32_t flows = 1;  // hash: that each pair of GPUs opens (NCCL_IB_QPS_PER_CONNECTION)

  bool operator==(const Multipath&) const = default;
};
inline constexpr std::string_view multipath_help =
    "over equally short ways: spread evenly, hash:SEED:FLOWS as ECMP, or file";
// "spread", "file", "hash", "hash:3", or "hash:3:4" of seed 3 with 4 flows a pair. None of another.
std::optional<Multipath> parse_multipath(std::string_view text);

// Who talks when, under the names that Megatron-LM gives the switches.
struct Communication {
  bool overlap_p2p = true;           // passes go on while boundary tensors are on their way
  bool overlap_grad_reduce = true;   // buckets go as soon as their gradients are whole
  bool overlap_param_gather = true;  // ZeRO-1, 2: each stage's weights before its first forward
  bool tp_comm_overlap = false;      // collectives of tp beside the matrix products they feed
  // Those of a backward pass beside the product of the other gradient.
  bool async_tensor_model_parallel_allreduce = true;
  bool scatter_gather = true;           // ranks of tp send each a part of a boundary tensor
  std::optional<std::uint64_t> bucket;  // bytes of gradients that are reduced at once
  std::uint32_t gradient_bytes = 4;     // of an element when reduced
  Algorithm all_reduce = Algorithm::automatic;
  std::optional<std::uint32_t> nccl;  // 27 of version 2.27; else the cluster file's
  // Processors (SMs, CUs) that kernels of collectives keep from compute beside them.
  std::optional<std::uint32_t> sms;
  std::optional<double> overlap_slowdown;  // of passes while collectives run beside them
  bool global_norm = true;                 // gradients are clipped: all devices wait for each other
  Detail detail = Detail::fast;
  Multipath multipath;
};

// "2.27" and "2.27.3" as 27; nothing for what is no version of NCCL 2.
std::optional<std::uint32_t> parse_nccl(std::string_view text);

// As given, or as Megatron-LM sizes them: 40 M parameters, or 1 M for each copy if that is more.
std::uint64_t bucket_bytes(const Communication& communication, std::uint32_t copies);

Communication read_communication(const Field& field);
std::vector<KeyRow> communication_keys();

}  // namespace pipewright::config
