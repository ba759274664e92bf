#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
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
  std::optional<double> power_law;       // or drawn: the exponent of workload::PowerLaw
  bool overlap = false;         // dispatch beside another microbatch's compute, in fused pairs
  bool delay_wgrad = false;     // no dispatch of a pair waits for its weight gradients
  bool shared_overlap = false;  // dispatch beside the shared experts of the same layer
  bool op_fuser = false;        // activation, casts and biases are parts of experts' products
};

// SMs of DeepEP's and HybridEP's kernels unless told.
std::uint32_t dispatch_sms(const ExpertTraining& experts);

// "alltoall", "deepep fp8 overlapped".
std::string dispatch_text(const ExpertTraining& experts);
// "power law 1.01", "imbalance 1.3"; empty where all ranks get as many tokens.
std::string routing_text(const ExpertTraining& experts);

std::vector<KeyRow> expert_training_keys();
ExpertTraining read_expert_training(const Field& field);

}  // namespace pipewright::config
