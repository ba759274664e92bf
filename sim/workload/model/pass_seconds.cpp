#include "sim/workload/model/pass_seconds.hpp"

#include "sim/workload/model/efficiency.hpp"

// Bytes are counted per element of a tensor in 16 bits that a kernel reads or writes: 2 each; of
// masks, 1.
namespace pipewright::workload {
namespace {

using config::Gpu;

// Both norms, both residuals with their dropout.
PassSeconds residual_seconds(const ModelSetting& setting, const Gpu& gpu) {
  const double elements = setting.sizes.spread_tokens * setting.model.hidden;
  const bool dropout = setting.model.dropout > 0;
  PassSeconds seconds;
  seconds.forward =
      2 * memory_seconds(gpu, 4 * elements) + 2 * memory_seconds(gpu, (dropout ? 7 : 6) * elements);
  seconds.input_grad =
      2 * memory_seconds(gpu, 8 * elements) + 2 * memory_seconds(gpu, (dropout ? 5 : 0) * elements);
  return seconds;
}

// The MLPs' activation function, rotary positions, and experts' tokens put in order and back.
PassSeconds between_seconds(const ModelSetting& setting, const Layer& layer, const Gpu& gpu) {
  PassSeconds seconds;
  seconds.forward = memory_seconds(gpu, 4 * layer.activated + 2 * layer.gates);
  seconds.input_grad = memory_seconds(gpu, 6 * layer.activated + 4 * layer.gates);
  const Attention& a = layer.attention;
  const double rotated = setting.model.learned_positions ? 0 : a.query_size() + a.key_size();
  const double moved = (layer.routing.sent + layer.routing.received) * setting.model.hidden;
  for (double* const pass : {&seconds.forward, &seconds.input_grad})
    *pass += memory_seconds(gpu, 4 * rotated) + 2 * memory_seconds(gpu, 4 * moved);
  return seconds;
}

PassSeconds flash_attention_seconds(const ModelSetting& setting, const Attention& a,
                                    const Gpu& gpu) {
  const double flops = a.flops() * (setting.training.causal ? 0.5 : 1);
  const double steps = setting.sizes.cp;
  PassSeconds seconds;
  seconds.forward = steps * flash_seconds(gpu, flops / steps);
  // Five products where the forward has two: it makes the scores again.
  seconds.input_grad = steps * flash_seconds(gpu, 2.5 * flops / steps);
  return seconds;
}

}  // namespace

PassSeconds product_seconds(const Linear& linear, const config::Training& training,
                            const Gpu& gpu) {
  const auto inputs = static_cast<double>(linear.inputs);
  const auto outputs = static_cast<double>(linear.outputs);
  const double sums = 2 * training.bytes.gradients;  // read and written
  PassSeconds seconds;
  seconds.forward = product_seconds(gpu, linear.tokens, outputs, inputs, linear.count);
  seconds.input_grad = product_seconds(gpu, linear.tokens, inputs, outputs, linear.count);
  if (training.fused_accumulation)
    seconds.weight_grad = product_seconds(gpu, outputs, inputs, linear.tokens, linear.count, sums);
  else
    seconds.weight_grad = product_seconds(gpu, outputs, inputs, linear.tokens, linear.count) +
                          memory_seconds(gpu, linear.count * inputs * outputs * (2 + sums));
  return seconds;
}

PassSeconds attention_seconds(const ModelSetting& setting, const Attention& a, const Gpu& gpu) {
  if (setting.training.flash_attention) return flash_attention_seconds(setting, a, gpu);
  const double count = a.samples * a.heads;
  const double scores = a.scores();
  const double bytes = 2 * scores + 2 * (a.query_size() + a.result_size());
  const auto to_scores = [&](double inner) {  // Q K' and the gradient of P
    return attention_product_seconds(gpu, a.queries, a.keys, inner, count, bytes);
  };
  const auto from_scores = [&](double columns) {  // P V and the gradients of Q, K, V
    return attention_product_seconds(gpu, a.queries, columns, a.keys, count, bytes);
  };
  const bool dropout = setting.model.dropout > 0;
  PassSeconds seconds;
  seconds.forward = to_scores(a.key_dim) + from_scores(a.value_dim) +
                    memory_seconds(gpu, 4 * scores) +
                    memory_seconds(gpu, (dropout ? 5 : 0) * scores);
  seconds.input_grad = to_scores(a.value_dim) + from_scores(a.value_dim) +
                       2 * from_scores(a.key_dim) + memory_seconds(gpu, 6 * scores) +
                       memory_seconds(gpu, (dropout ? 5 : 0) * scores);
  return seconds;
}

PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const Gpu& gpu) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  PassSeconds seconds = attention_seconds(setting, layer.attention, gpu);
  const double attention = seconds.forward;
  for (const Linear& linear : linears_of(layer))
    seconds += product_seconds(linear, setting.training, gpu);
  seconds += residual_seconds(setting, gpu);
  seconds += between_seconds(setting, layer, gpu);
  switch (setting.training.recompute) {
    case config::Recompute::none:
      break;
    case config::Recompute::selective:  // flash attention keeps no scores to make again
      if (!setting.training.flash_attention) seconds.recomputed = attention;
      break;
    case config::Recompute::full:
      seconds.recomputed = seconds.forward;
      break;
  }
  return seconds;
}

PassSeconds embedding_seconds(const ModelSetting& setting, const Gpu& gpu) {
  const double elements = setting.sizes.tokens * setting.model.hidden;
  const bool dropout = setting.model.dropout > 0;
  PassSeconds seconds;
  seconds.forward = memory_seconds(gpu, 4 * elements);
  if (dropout)
    seconds.forward += memory_seconds(gpu, 5 * setting.sizes.spread_tokens * setting.model.hidden);
  // Rows of the gradient, summed one by one.
  seconds.weight_grad = memory_seconds(gpu, (2 + 2 * setting.training.bytes.gradients) * elements);
  return seconds;
}

PassSeconds head_seconds(const ModelSetting& setting, const Gpu& gpu) {
  const Sizes& sizes = setting.sizes;
  const std::uint64_t vocabulary = sizes.vocabulary / sizes.tp;
  const Linear output{
      .tokens = sizes.tokens, .inputs = setting.model.hidden, .outputs = vocabulary};
  PassSeconds seconds = product_seconds(output, setting.training, gpu);
  const double norm = sizes.spread_tokens * setting.model.hidden;
  seconds.forward += memory_seconds(gpu, 4 * norm);
  seconds.input_grad += memory_seconds(gpu, 8 * norm);
  // The loss in its steps: to fp32 (6), greatest (4), difference (8), exponential and sum (6); the
  // gradient (8) and back to 16 bits (2 of 6 in cache). Fused: read twice, write once.
  const double logits = sizes.tokens * static_cast<double>(vocabulary);
  seconds.forward += memory_seconds(gpu, (setting.training.fused_loss ? 4 : 24) * logits);
  seconds.input_grad += memory_seconds(gpu, (setting.training.fused_loss ? 4 : 10) * logits);
  return seconds;
}

double optimizer_seconds(const config::Training& training, double parameters, const Gpu& gpu) {
  const config::ParameterBytes& bytes = training.bytes;
  return memory_seconds(gpu, parameters * (bytes.gradients + 2 * bytes.optimizer + bytes.weights));
}

}  // namespace pipewright::workload
