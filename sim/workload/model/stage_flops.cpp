#include "sim/workload/model/stage_flops.hpp"

#include <array>

namespace pipewright::workload {
namespace {

// Of what backward passes make again themselves. Selective recomputation makes scores and their
// products with the values again, 4 b s^2 h a layer; arXiv 2205.05198 counts three times that as
// hardware FLOPs (equation 8: s/3h where the model's are s/6h), more than is computed.
double recomputed_flops(const Setting& setting, double forward, double head) {
  const config::Training& training = setting.training;
  switch (training.recompute) {
    case config::Recompute::none:
      break;
    case config::Recompute::selective:
      if (training.flash_attention) break;
      return score_flops(setting.model, setting.sizes.samples, setting.sizes.sequence);
    case config::Recompute::full:
      return forward - head;
  }
  return 0;
}

}  // namespace

void set_flops(const Setting& setting, const std::vector<LayerRange>& layers, StageCosts& costs) {
  const config::Model& model = setting.model;
  const double samples = setting.sizes.samples;
  const double sequence = setting.sizes.sequence;
  const double forward = forward_flops(model, samples, sequence);
  const double head = head_flops(model, samples, sequence);
  costs.model_flops_per_microbatch = 3 * forward;
  costs.hardware_flops_per_microbatch = 3 * forward + recomputed_flops(setting, forward, head);

  const auto of_kind = [&](LayerKind kind) { return layer_flops(model, kind, samples, sequence); };
  const std::array kinds{of_kind(LayerKind::dense),
                         model.experts ? of_kind(LayerKind::experts) : 0};
  for (const LayerRange& stage : layers) {
    double& flops = costs.forward_flops.emplace_back();
    for (std::uint32_t layer = stage.first; layer < stage.first + stage.count; ++layer)
      flops += kinds[static_cast<std::size_t>(kind_of_layer(model, layer))];
  }
  costs.forward_flops.back() += head;
}

}  // namespace pipewright::workload
