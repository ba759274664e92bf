#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/offload.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Optimizer with the data types of its state and the memory that holds it, as in Megatron-LM's
// precision-aware optimizer (--use-precision-aware-optimizer,
// megatron/core/optimizer/optimizer_config.py). The scale of an fp8 tensor, a single number, is not
// counted in its bytes.
struct Optimizer {
  // State beside the main weights. adam: two moments. muon (kellerjordan.github.io/posts/muon,
  // arXiv 2502.16982): the momentum of each matrix, which Newton-Schulz iterations orthogonalize;
  // embeddings, output layer, norms and biases have Adam's state. adafactor (arXiv 1804.04235,
  // without momentum): the second moment of a matrix as sums of its rows and of its columns.
  // adam_8bit (arXiv 2110.02861): two moments of 8 bits with an fp32 scale per block of 256.
  // ademamix (arXiv 2409.03137): a second, slow first moment beside those of Adam.
  enum class Name : std::uint8_t { adam, muon, adafactor, adam_8bit, ademamix };
  // Distribution of Muon's matrices over the ranks that shard its state
  // (sim/workload/model/muon.hpp).
  enum class Mode : std::uint8_t { layer_wise, distributed, fsdp };
  // Buffers of layer_wise: shards of equal size that hold whole matrices, or no shards at all, with
  // matrices dealt to the ranks by size, forth and back.
  enum class Layout : std::uint8_t { padded, ping_pong };
  // Newton-Schulz iterations of a matrix that tp cuts: every rank gathers it whole; the ranks share
  // its products; or each part is orthogonalized alone.
  enum class TensorMode : std::uint8_t { duplicated, distributed, blockwise };
  enum class Products : std::uint8_t { bf16, tf32, fp32 };

  enum class Moment : std::uint8_t { fp32, fp16, bf16, fp8 };
  // remainders: the lower half of fp32 numbers, whose upper half are the bf16 weights
  // (store_param_remainders).
  enum class MainParams : std::uint8_t { fp32, fp16, remainders };
  enum class MainGrads : std::uint8_t { fp32, bf16 };

  Name name = Name::adam;
  std::optional<Mode> mode;  // default: fsdp with ZeRO-3, otherwise layer_wise
  Layout layout = Layout::padded;
  std::uint32_t ns_steps = 5;
  TensorMode tp_mode = TensorMode::duplicated;
  Products ns_precision = Products::bf16;
  bool split_qkv = true;  // Q, K and V are orthogonalized one by one
  Moment exp_avg = Moment::fp32;
  Moment exp_avg_sq = Moment::fp32;
  MainParams main_params = MainParams::fp32;
  MainGrads main_grads = MainGrads::fp32;  // type of accumulated gradients
  std::optional<OptimizerOffload> offload;

  // Returns the fraction of the parameters whose state is on the GPU.
  double fraction_on_gpu() const { return offload ? 1 - offload->fraction : 1; }
};
inline constexpr std::array<std::string_view, 5> optimizer_names{"adam", "muon", "adafactor",
                                                                 "adam_8bit", "ademamix"};
inline constexpr std::array<std::string_view, 3> muon_mode_names{"layer_wise", "distributed",
                                                                 "fsdp"};
inline constexpr std::array<std::string_view, 2> muon_layout_names{"padded", "ping_pong"};
inline constexpr std::array<std::string_view, 3> muon_tp_mode_names{"duplicated", "distributed",
                                                                    "blockwise"};
inline constexpr std::array<std::string_view, 3> ns_precision_names{"bf16", "tf32", "fp32"};
inline constexpr std::array<std::string_view, 4> moment_names{"fp32", "fp16", "bf16", "fp8"};
inline constexpr std::array<std::string_view, 3> main_params_names{"fp32", "fp16", "remainders"};
inline constexpr std::array<std::string_view, 2> main_grads_names{"fp32", "bf16"};

// Bytes per model parameter: of the moments of parameters that are no matrix, of those of matrices,
// of the main weights, and of the accumulated gradient. The sums of Adafactor's rows and columns
// are not among those of matrices.
double moments_bytes(const Optimizer& optimizer);
double matrix_moments_bytes(const Optimizer& optimizer);
double main_bytes(const Optimizer& optimizer);
double gradient_bytes(const Optimizer& optimizer);

// Distribution of Muon's matrices with this level of ZeRO.
Optimizer::Mode mode_of(const Optimizer& optimizer, std::uint32_t zero);
// Describes the optimizer: "adam", "muon (layer_wise; 5 Newton-Schulz steps)".
std::string to_string(const Optimizer& optimizer, std::uint32_t zero);

Optimizer read_optimizer(const Field& field);
std::vector<KeyRow> optimizer_keys();

}  // namespace pipewright::config
