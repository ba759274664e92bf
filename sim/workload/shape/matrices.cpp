#include "sim/workload/shape/matrices.hpp"

#include <algorithm>

#include "sim/workload/shape/fine_tuning.hpp"

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

// Adds the two matrices of each adapter of a product, which are updated like other matrices.
void add_adapter_matrices(const ModelSetting& setting, const Linear& linear,
                          std::vector<Matrix>& matrices) {
  using Cut = Matrix::Cut;
  for (const Adapter& adapter : adapters_of(setting, linear)) {
    const auto add = [&](const Linear& part, Cut cut) {
      matrices.push_back({.rows = part.outputs,
                          .columns = part.inputs,
                          .count = part.count,
                          .cut = adapter.ranks > 1 ? cut : Cut::none,
                          .is_expert = is_adapter_of_expert(setting.training, linear.part)});
    };
    add(adapter.a, adapter.cut_by_inputs ? Cut::columns : Cut::rows);
    add(adapter.b, Cut::rows);
  }
}

}  // namespace

std::vector<Matrix> layer_matrices(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  std::vector<Matrix> matrices;
  const auto add = [&](const Linear& linear) {
    if (!is_frozen(setting.training, linear.part))
      matrices.push_back(matrix_of(setting.model, linear, layer.attention));
    add_adapter_matrices(setting, linear, matrices);
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

std::vector<Matrix> mtp_matrices(const ModelSetting& setting) {
  const config::Model& model = setting.model;
  std::vector<Matrix> matrices;
  if (!is_frozen(setting.training, Part::mtp_projection))
    matrices.push_back(matrix_of(model, mtp_projection(model, setting.sizes), {}));
  const std::vector<Matrix> layer = layer_matrices(setting, kind_of_mtp(model));
  matrices.insert(matrices.end(), layer.begin(), layer.end());
  return matrices;
}

std::vector<Matrix> stage_matrices(const ModelSetting& setting, const StageParts& stage) {
  const config::Model& model = setting.model;
  const auto of_kind =
      by_kind(model, [&](LayerKind kind) { return layer_matrices(setting, kind); });
  std::vector<Matrix> matrices;
  const auto add = [&](const std::vector<Matrix>& part) {
    matrices.insert(matrices.end(), part.begin(), part.end());
  };
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    add(of_kind[static_cast<std::size_t>(kind_of_layer(model, stage.layers.first + index))]);
  for (std::uint32_t set = 0; set < mtp_weight_sets(model, stage.mtp); ++set)
    add(mtp_matrices(setting));
  return matrices;
}

}  // namespace pipewright::workload
