#include "sim/workload/model/shares.hpp"

#include <optional>

namespace pipewright::workload {
namespace {

using schedules::PassKind;

bool goes_by_pairs(Part part) { return scaling_of(part) == Scaling::pairs; }
bool goes_by_experts(Part part) { return scaling_of(part) == Scaling::experts; }
// As Megatron-LM has it: shared experts are run with the others.
bool is_second_half(Part part) {
  return is_expert_part(part) || (Part::shared_in <= part && part <= Part::shared_out);
}

// Of the kernels of all parts, those that are `wanted`.
void add_share(bool (*wanted)(Part part), const DeviceSettings& settings,
               const std::vector<config::Gpu>& gpus, const schedules::Routes& routes,
               const std::vector<StageParts>& stages, StageCosts::ByKindAndStage& shares) {
  struct Sums {
    StageSums all;
    StageSums part;
  };
  std::vector<Sums> of_device;
  for (std::size_t device = 0; device < gpus.size(); ++device)
    if (settings.repeats(device) && gpus[device] == gpus[device - 1])
      of_device.push_back(of_device.back());
    else
      of_device.push_back({{settings[device], gpus[device], std::nullopt},
                           {settings[device], gpus[device], wanted}});
  const auto add = [&](PassKind kind, double seconds, double whole) {
    shares[static_cast<std::size_t>(kind)].push_back(whole > 0 ? seconds / whole : 0);
  };
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const Sums& sums = of_device[routes.device(stage, 0)];
    const PassSeconds all = sums.all.of(stages[stage]).kernels;
    const PassSeconds part = sums.part.of(stages[stage]).kernels;
    add(PassKind::forward, part.forward, all.forward);
    add(PassKind::recompute, part.forward, all.forward);
    add(PassKind::input_grad, part.before_weight_grad(), all.before_weight_grad());
    add(PassKind::weight_grad, part.weight_grad, all.weight_grad);
    add(PassKind::backward, part.backward(), all.backward());
  }
}

void add_routed_layers(const config::Model& model, const StageParts& parts, StageCosts& costs) {
  std::vector<std::uint32_t>& routed = costs.expert_layers.emplace_back();
  const LayerRange& layers = parts.layers;
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
    if (has_experts(kind_of_layer(model, layer))) routed.push_back(layer);
  if (parts.mtp > 0 && has_experts(kind_of_mtp(model)))
    for (std::uint32_t module = 0; module < parts.mtp; ++module)
      routed.push_back(model.layers + module);
}

}  // namespace

void set_shares(const DeviceSettings& settings, const std::vector<config::Gpu>& gpus,
                const schedules::Routes& routes, const std::vector<StageParts>& stages,
                StageCosts& costs) {
  const ModelSetting& setting = settings.any();
  if (setting.model.experts && setting.sizes.ep > 1)
    add_share(is_second_half, settings, gpus, routes, stages, costs.second_half);
  if (!setting.training.lengths && !setting.training.experts.power_law) return;
  add_share(goes_by_pairs, settings, gpus, routes, stages, costs.attention_share);
  add_share(goes_by_experts, settings, gpus, routes, stages, costs.experts_share);
  for (const StageParts& parts : stages) add_routed_layers(setting.model, parts, costs);
}

}  // namespace pipewright::workload
