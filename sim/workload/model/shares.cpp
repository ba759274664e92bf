#include "sim/workload/model/shares.hpp"

#include <optional>

#include "sim/workload/compute/encoder_work.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;

bool scales_with_pairs(Part part) { return scaling_of(part) == Scaling::pairs; }
bool scales_with_experts(Part part) { return scaling_of(part) == Scaling::experts; }
// Returns whether a part runs between dispatch and combination of tokens. Shared experts count like
// the routed ones, as in Megatron-LM.
bool is_second_half(Part part) {
  return is_expert_part(part) || (Part::shared_in <= part && part <= Part::shared_out);
}

// Appends for each stage the share of its kernel time in parts for which includes(part) holds.
void add_share(bool (*includes)(Part part), const DeviceSettings& settings,
               const std::vector<config::Gpu>& gpus, const schedules::Routes& routes,
               const std::vector<StageParts>& stages, StageCosts::ByKindAndStage& shares) {
  struct Sums {
    StageSums total;
    StageSums part;
  };
  std::vector<Sums> sums_by_device;
  for (std::size_t device = 0; device < gpus.size(); ++device)
    if (settings.repeats(device) && gpus[device] == gpus[device - 1])
      sums_by_device.push_back(sums_by_device.back());
    else
      sums_by_device.push_back({{settings[device], gpus[device], std::nullopt},
                                {settings[device], gpus[device], includes}});
  const auto add = [&](PassKind kind, double seconds, double whole) {
    shares[static_cast<std::size_t>(kind)].push_back(whole > 0 ? seconds / whole : 0);
  };
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const Sums& sums = sums_by_device[routes.device(stage, 0)];
    const PassSeconds total = sums.total.seconds_of(stages[stage].of_layers()).kernels;
    const PassSeconds part = sums.part.seconds_of(stages[stage].of_layers()).kernels;
    add(PassKind::forward, part.forward, total.forward);
    add(PassKind::recompute, part.forward, total.forward);
    add(PassKind::input_grad, part.before_weight_grad(), total.before_weight_grad());
    add(PassKind::weight_grad, part.weight_grad, total.weight_grad);
    add(PassKind::backward, part.backward(), total.backward());
    add(PassKind::output, 0, 0);  // proportional to tokens
    add(PassKind::output_grad, 0, 0);
  }
}

// Appends for each stage the share of its kernel time in the encoder of images.
void add_encoder_share(const DeviceSettings& settings, const std::vector<config::Gpu>& gpus,
                       const schedules::Routes& routes, const std::vector<StageParts>& stages,
                       StageCosts& costs) {
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    PassSeconds part;
    PassSeconds total;
    if (stages[stage].encoder) {
      const std::uint32_t device = routes.device(stage, 0);
      part = encoder_seconds(settings[device], gpus[device]).kernels;
      total = StageSums(settings[device], gpus[device], std::nullopt)
                  .seconds_of(stages[stage].of_layers())
                  .kernels;
    }
    const auto add = [&](PassKind kind, double seconds, double whole) {
      costs.encoder_share[static_cast<std::size_t>(kind)].push_back(whole > 0 ? seconds / whole
                                                                              : 0);
    };
    add(PassKind::forward, part.forward, total.forward);
    add(PassKind::recompute, part.forward, total.forward);
    add(PassKind::input_grad, part.before_weight_grad(), total.before_weight_grad());
    add(PassKind::weight_grad, part.weight_grad, total.weight_grad);
    add(PassKind::backward, part.backward(), total.backward());
    add(PassKind::output, 0, 0);  // proportional to tokens
    add(PassKind::output_grad, 0, 0);
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
  if (setting.training.vision && (setting.training.lengths || has_uneven_images(setting.training)))
    add_encoder_share(settings, gpus, routes, stages, costs);
  if (!setting.training.lengths && !routing_law(setting.model, setting.training, setting.sizes))
    return;
  add_share(scales_with_pairs, settings, gpus, routes, stages, costs.attention_share);
  add_share(scales_with_experts, settings, gpus, routes, stages, costs.experts_share);
  for (const StageParts& parts : stages) add_routed_layers(setting.model, parts, costs);
}

}  // namespace pipewright::workload
