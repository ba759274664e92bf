#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"

namespace pipewright::config {

// By what tokens get to their experts and back, as Megatron-LM calls it: moe_token_dispatcher_type,
// and the backends of its flex dispatcher. alltoall sends a copy for each of a token's experts,
// allgather all tokens to all ranks; the others send a token once to each node, and over NVLink to
// each rank there.
enum class Dispatcher : std::uint8_t { alltoall, allgather, deepep, hybridep };
inline constexpr std::array<std::string_view, 4> dispatcher_names{"alltoall", "allgather", "deepep",
                                                                  "hybridep"};

// How a mixture's experts are trained.
struct ExpertTraining {
  Dispatcher dispatcher = Dispatcher::alltoall;
  DataType dispatched = DataType::bf16;  // of tokens on their way to experts; the rest is in bf16
  std::optional<std::uint32_t> sms;      // that the dispatcher's kernels take; else its default
  double imbalance = 1;                  // the busiest rank's tokens over the mean
  bool overlap = false;                  // dispatch beside another microbatch's compute
};

// SMs of DeepEP's and HybridEP's kernels unless told.
std::uint32_t dispatch_sms(const ExpertTraining& experts);

std::vector<KeyRow> expert_training_keys();
ExpertTraining read_expert_training(const Field& field);

}  // namespace pipewright::config
