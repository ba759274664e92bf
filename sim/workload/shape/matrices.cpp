#include "sim/workload/shape/matrices.hpp"

#include <algorithm>

namespace pipewright::workload {
namespace {

Matrix matrix_of(const config::Model& model, const Linear& linear, const Attention& attention) {
  using Cut = Matrix::Cut;
  Matrix matrix{.rows = linear.outputs,
                .columns = linear.inputs,
                .count = linear.count,
                .cut = linear.gathers_input     ? Cut::rows
                       : linear.scatters_output ? Cut::columns
                                                : Cut::none,
                .is_expert = is_expert_part(linear.part)};
  matrix.has_gate = model.gated && (linear.part == Part::mlp_in || linear.part == Part::shared_in ||
                                    linear.part == Part::expert_in);
  if (linear.part == Part::qkv) {
    const std::uint64_t keys = std::uint64_t{attention.kv_heads} * attention.key_dim;
    const std::uint64_t queries = std::uint64_t{attention.heads} * attention.key_dim;
    matrix.fused = {queries, keys};
    if (linear.outputs > queries + keys) matrix.fused.push_back(linear.outputs - queries - keys);
  }
  return matrix;
}

}  // namespace

std::vector<Matrix> layer_matrices(const config::Model& model, LayerKind kind, const Sizes& sizes) {
  const Layer layer = layer_on_gpu(model, kind, sizes);
  std::vector<Matrix> matrices;
  const auto add = [&](const Linear& linear) {
    matrices.push_back(matrix_of(model, linear, layer.attention));
  };
  const auto is_projection = [](const Linear& linear) { return linear.part == Part::projection; };
  for (const Linear& linear : layer.attention_linears)
    if (is_projection(linear)) add(linear);
  for (const Linear& linear : layer.attention_linears)
    if (!is_projection(linear)) add(linear);
  for (const auto* linears :
       {&layer.router, &layer.latent_linears, &layer.expert_linears, &layer.mlp_linears})
    std::ranges::for_each(*linears, add);
  return matrices;
}

std::vector<Matrix> mtp_matrices(const config::Model& model, const Sizes& sizes) {
  std::vector<Matrix> matrices{matrix_of(model, mtp_projection(model, sizes), {})};
  const std::vector<Matrix> layer = layer_matrices(model, kind_of_mtp(model), sizes);
  matrices.insert(matrices.end(), layer.begin(), layer.end());
  return matrices;
}

std::vector<Matrix> stage_matrices(const ModelSetting& setting, const StageParts& stage) {
  const config::Model& model = setting.model;
  const auto of_kind =
      by_kind(model, [&](LayerKind kind) { return layer_matrices(model, kind, setting.sizes); });
  std::vector<Matrix> matrices;
  const auto add = [&](const std::vector<Matrix>& part) {
    matrices.insert(matrices.end(), part.begin(), part.end());
  };
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    add(of_kind[static_cast<std::size_t>(kind_of_layer(model, stage.layers.first + index))]);
  for (std::uint32_t module = 0; module < stage.mtp; ++module)
    add(mtp_matrices(model, setting.sizes));
  return matrices;
}

}  // namespace pipewright::workload
