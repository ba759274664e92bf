#include "sim/workload/compute/graph_capture.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/small_kernels.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

// Kernels of the embedding, of multi-token prediction, and of the head with the loss.
namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Returns the kernels of the output matrix and of the loss for this number of tokens.
PassKernels loss_kernels(const ModelSetting& setting, double tokens) {
  const std::uint64_t vocabulary = setting.sizes.vocabulary / setting.sizes.tp;
  PassKernels kernels = linear_kernels(setting, {.part = Part::head,
                                                 .tokens = tokens,
                                                 .inputs = setting.model.hidden,
                                                 .outputs = vocabulary});
  // Bytes per logit of the loss in separate steps: cast to fp32 (6), maximum (4), difference (8),
  // exponential and sum (6), then gradient (8) and cast to 16 bits (2, as 4 of 6 are in cache).
  // Logits of 32 bits need no casts. The fused loss reads the logits twice and writes the gradient
  // once.
  const double logits = tokens * static_cast<double>(vocabulary);
  // Three all-reduces over tp: of each token's maximum logit, of its target logit and of its sum.
  if (setting.sizes.tp > 1)
    for (int step = 0; step < 3; ++step) add_collective(kernels.forward, Part::loss, "all-reduce");
  const double fused = 4 * width_of(setting);
  const double cast_forward = has_32_bits(setting) ? 0 : 6;
  const double cast_back = has_32_bits(setting) ? 0 : 2;
  add_memory(kernels.forward, Part::loss, "loss",
             (setting.training.fused_loss ? fused : 18 + cast_forward) * logits);
  add_memory(kernels.input_grad, Part::loss, "loss",
             (setting.training.fused_loss ? fused : 8 + cast_back) * logits);
  return kernels;
}

// Appends the kernels of a loss in chunks, which computes the gradients of a chunk right after its
// loss, in the forward pass (torchtitan's ChunkedLossWrapper, Liger's
// LigerFusedLinearCrossEntropyFunction).
void append_chunks(const PassKernels& chunk, std::uint32_t chunks, Kernels& forward) {
  for (const Kernels* const pass : {&chunk.forward, &chunk.input_grad, &chunk.weight_grad})
    for (const Kernel& kernel : *pass) forward.emplace_back(kernel).times *= chunks;
}

}  // namespace

PassKernels embedding_kernels(const ModelSetting& setting) {
  const double elements = setting.sizes.tokens * setting.model.hidden;
  PassKernels kernels;
  add_memory(kernels.forward, Part::embedding, "lookup", 4 * width_of(setting) * elements);
  if (setting.model.dropout > 0)
    add_memory(kernels.forward, Part::embedding, "dropout",
               masked_bytes(setting, 2, 1) * setting.sizes.spread_tokens * setting.model.hidden);
  // The gradient of the embedding is summed row by row into the main gradient.
  if (!is_frozen(setting.training, Part::embedding))
    add_memory(kernels.weight_grad, Part::embedding, "sum",
               (2 * width_of(setting) + 2 * config::gradient_bytes(setting.training)) * elements);
  capture_all(setting, kernels);
  return kernels;
}

PassKernels mtp_kernels(const ModelSetting& model_setting) {
  const ModelSetting setting = setting_of_mtp(model_setting);
  PassKernels kernels = embedding_kernels(setting);
  for (int norm = 0; norm < 2; ++norm) add_norm_kernels(setting, Part::mtp_norm, kernels);
  // The concatenation reads both tensors and writes them side by side.
  add_memory(kernels.forward, Part::mtp_projection, "concat",
             2 * 4 * width_of(setting) * setting.sizes.spread_tokens * setting.model.hidden);
  append_passes(linear_kernels(setting, mtp_projection(setting.model, setting.sizes)), kernels);
  // Each tp rank computes a part of the projection's result, so the parts are gathered.
  if (setting.sizes.tp > 1) add_collective(kernels.forward, Part::mtp_projection, "all-gather");
  append_passes(layer_kernels(setting, kind_of_mtp(setting.model)), kernels);
  capture_all(setting, kernels);
  return kernels;
}

PassKernels head_kernels(const ModelSetting& setting) {
  PassKernels kernels;
  // The residual streams become one hidden state.
  if (setting.model.residual_streams > 1) {
    const double elements = width_of(setting) * setting.sizes.spread_tokens;
    const auto ends = static_cast<double>(setting.model.residual_width() + setting.model.hidden);
    add_memory(kernels.forward, Part::head_norm, "contract", 2 * elements * ends);
    add_memory(kernels.input_grad, Part::head_norm, "contract",
               2 * elements * (ends + static_cast<double>(setting.model.residual_width())));
  }
  add_norm_kernels(setting, Part::head_norm, kernels);
  const std::uint32_t chunks = setting.training.loss_chunks;
  const PassKernels loss = loss_kernels(setting, setting.sizes.tokens / chunks);
  if (chunks == 1)
    append_passes(loss, kernels);
  else
    append_chunks(loss, chunks, kernels.forward);
  capture_all(setting, kernels);
  return kernels;
}

}  // namespace pipewright::workload
