#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/config/collective_algorithm.hpp"
#include "sim/config/fields.hpp"
#include "sim/config/keys.hpp"

namespace pipewright::config {

enum class Detail : std::uint8_t { fast, full };

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
  double overlap_slowdown = 1;  // of a pass while collectives run beside it
  bool global_norm = true;      // gradients are clipped: all devices wait for each other
  Detail detail = Detail::fast;
};

// As given, or as Megatron-LM sizes them: 40 M parameters, or 1 M for each copy if that is more.
std::uint64_t bucket_bytes(const Communication& communication, std::uint32_t copies);

Communication read_communication(const Field& field);
std::vector<KeyRow> communication_keys();

}  // namespace pipewright::config
