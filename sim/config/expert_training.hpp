#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"

namespace pipewright::config {

// Token dispatcher of a mixture of experts, named as in Megatron-LM: moe_token_dispatcher_type and
// the backends of the flex dispatcher. alltoall sends a token once per expert, allgather sends all
// tokens to all ranks; deepep and hybridep send a token once to each node and from there over
// NVLink.
enum class Dispatcher : std::uint8_t { alltoall, allgather, deepep, hybridep };
inline constexpr std::array<std::string_view, 4> dispatcher_names{"alltoall", "allgather", "deepep",
                                                                  "hybridep"};

// Distribution of tokens by a router. forced: every expert gets the same number of tokens, as with
// Megatron-LM's --moe-router-force-load-balancing. natural: a trained router distributes the
// tokens, and the loads of experts are drawn from workload::RoutingLaw.
enum class RouterBalance : std::uint8_t { forced, natural };
inline constexpr std::array<std::string_view, 2> router_balance_names{"forced", "natural"};

// Training options of a mixture of experts.
struct ExpertTraining {
  Dispatcher dispatcher = Dispatcher::alltoall;
  DataType dispatched = DataType::bf16;  // data type of dispatched tokens; combined tokens are bf16
  std::optional<std::uint32_t> sms;      // SMs of the dispatcher's kernels
  RouterBalance routing = RouterBalance::forced;
  double imbalance = 1;  // tokens of the busiest rank, relative to the mean; replaces routing
  std::optional<double> power_law;   // exponent of workload::RoutingLaw, instead of imbalance
  std::optional<double> drop_above;  // tokens that an expert accepts, relative to the mean
  bool overlap = false;         // dispatch overlaps compute of another microbatch, in fused pairs
  bool delay_wgrad = false;     // weight gradients of a pair do not delay its dispatch
  bool shared_overlap = false;  // dispatch overlaps the shared experts of the layer
  bool op_fuser = false;        // products of experts include activation function, casts and biases
  bool round_robin = false;     // tokens choose experts in turn instead of at random

  // Returns whether loads of experts are drawn for each layer and microbatch.
  bool draws_loads() const {
    return power_law || (routing == RouterBalance::natural && imbalance == 1 && !round_robin);
  }
};

// Number of SMs that the kernels of DeepEP or HybridEP occupy; by default that of the library.
std::uint32_t dispatch_sms(const ExpertTraining& experts);

// Describes the dispatch of tokens: "alltoall", "deepep fp8 overlapped".
std::string dispatch_text(const ExpertTraining& experts);
// Describes how unevenly tokens are distributed over ranks: "natural", "power law 1.01" or
// "imbalance 1.3"; empty if all ranks receive equally many.
std::string routing_text(const ExpertTraining& experts);

std::vector<KeyRow> expert_training_keys();
ExpertTraining read_expert_training(const Field& field);

}  // namespace pipewright::config
