#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/offload.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Data types and place of Adam's state, as in Megatron-LM's precision-aware optimizer
// (--use-precision-aware-optimizer, megatron/core/optimizer/optimizer_config.py). The scale of an
// fp8 tensor, a single number, is not counted in its bytes.
struct Optimizer {
  enum class Moment : std::uint8_t { fp32, fp16, bf16, fp8 };
  // remainders: the lower half of fp32 numbers, whose upper half are the bf16 weights
  // (store_param_remainders).
  enum class MainParams : std::uint8_t { fp32, fp16, remainders };
  enum class MainGrads : std::uint8_t { fp32, bf16 };

  Moment exp_avg = Moment::fp32;
  Moment exp_avg_sq = Moment::fp32;
  MainParams main_params = MainParams::fp32;
  MainGrads main_grads = MainGrads::fp32;  // type of accumulated gradients
  std::optional<OptimizerOffload> offload;

  // Returns the fraction of the parameters whose state is on the GPU.
  double fraction_on_gpu() const { return offload ? 1 - offload->fraction : 1; }
};
inline constexpr std::array<std::string_view, 4> moment_names{"fp32", "fp16", "bf16", "fp8"};
inline constexpr std::array<std::string_view, 3> main_params_names{"fp32", "fp16", "remainders"};
inline constexpr std::array<std::string_view, 2> main_grads_names{"fp32", "bf16"};

// Bytes per model parameter: of the two moments, of all optimizer state, and of the accumulated
// gradient.
double moments_bytes(const Optimizer& optimizer);
double state_bytes(const Optimizer& optimizer);
double gradient_bytes(const Optimizer& optimizer);

Optimizer read_optimizer(const Field& field);
std::vector<KeyRow> optimizer_keys();

}  // namespace pipewright::config
