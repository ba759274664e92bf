#include "sim/workload/model/stage_sums.hpp"

#include <algorithm>
#include <map>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/measured.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {

StageSums::StageSums(const ModelSetting& setting, const config::Gpu& gpu,
                     const std::optional<config::LayerTimes>& times)
    : embedding_(embedding_seconds(setting, gpu)),
      encoder_(encoder_seconds(setting, gpu)),
      head_(head_seconds(setting, gpu)) {
  const LayerValues<PartSeconds> layers(setting,
                                        [&](const ModelSetting& layer_setting, LayerKind kind) {
                                          return layer_seconds(layer_setting, kind, gpu);
                                        });
  if (!times)
    set_untrained(setting, [&](const std::vector<Kernel>& input_grad) {
      return lowest_excess(setting, input_grad, gpu);
    });
  if (times) {
    embedding_ = with_measured_times(embedding_, times->embedding);
    head_ = with_measured_times(head_, times->head);
  }
  const PartSeconds single_head = head_;
  for (std::uint32_t module = 0; module < setting.model.mtp_layers; ++module) head_ += single_head;
  if (setting.model.mtp_layers > 0) mtp_ = mtp_seconds(setting, gpu);
  add_layers(
      setting, [&](std::uint32_t layer) { return layers.of(layer); },
      [&](const PartSeconds& seconds, LayerKind kind, std::uint32_t layer) {
        return times ? with_measured_times(seconds, times_of_layers(*times, kind), layer) : seconds;
      });
}

StageSums::StageSums(const ModelSetting& setting, const config::Gpu& gpu,
                     bool (*includes)(Part part)) {
  const LayerValues<PartSeconds> layers(
      setting, [&](const ModelSetting& layer_setting, LayerKind kind) {
        return PartSeconds{.kernels = layer_seconds(layer_setting, kind, gpu, includes),
                           .launches = {}};
      });
  if (setting.model.mtp_layers > 0) mtp_.kernels = mtp_seconds(setting, gpu, includes);
  set_untrained(setting, [&](const std::vector<Kernel>& input_grad) {
    return PartSeconds{.kernels = lowest_excess(setting, input_grad, gpu, includes),
                       .launches = {}};
  });
  add_layers(
      setting, [&](std::uint32_t layer) { return layers.of(layer); },
      [](const PartSeconds& seconds, LayerKind, std::uint32_t) { return seconds; });
}

template <class Excess>
void StageSums::set_untrained(const ModelSetting& setting, const Excess& excess) {
  if (!lacks_lowest_gradients(setting.training)) return;
  const std::uint32_t layers = setting.model.layers;
  untrained_layers_ = layers_below_training(setting);
  trains_mtp_ = trains_mtp(setting);
  if (untrained_layers_ < layers)
    lowest_excess_ = excess(layer_kernels(setting_of_layer(setting, untrained_layers_),
                                          kind_of_layer(setting.model, untrained_layers_))
                                .input_grad);
  else
    for (std::uint32_t run = 0; run <= setting.model.mtp_layers; ++run)
      head_excess_ += excess(head_kernels(setting).input_grad);
}

// Adds up the seconds of all layers, without recomputation of those that are not recomputed in
// their stage.
template <class LayerSeconds, class Adjust>
void StageSums::add_layers(const ModelSetting& setting, const LayerSeconds& layer_seconds,
                           const Adjust& adjust) {
  block_ = setting.training.recompute.block;
  before_.resize(setting.model.layers + 1);
  const LayerRange model_layers{0, setting.model.layers};
  config::Recompute without_block = setting.training.recompute;
  without_block.block = 0;
  for (std::uint32_t layer = 0; layer < setting.model.layers; ++layer) {
    const LayerKind kind = kind_of_layer(setting.model, layer);
    PartSeconds seconds = layer_seconds(layer);
    if (!is_recomputed(without_block, model_layers, layer))
      seconds.kernels.recomputed = seconds.launches.recomputed = 0;
    before_[layer + 1] = before_[layer];
    before_[layer + 1] += adjust(seconds, kind, layer);
  }
}

PartSeconds StageSums::seconds_of(const StageParts& stage) const {
  const PartSeconds& first = before_[stage.layers.first];
  const std::uint32_t recomputed_layers =
      block_ > 0 ? std::min(block_, stage.layers.count) : stage.layers.count;
  PartSeconds seconds = before_[stage.layers.first + stage.layers.count] - first;
  const PartSeconds recomputed = before_[stage.layers.first + recomputed_layers] - first;
  seconds.kernels.recomputed = recomputed.kernels.recomputed;
  seconds.launches.recomputed = recomputed.launches.recomputed;
  if (stage.embedding) seconds += embedding_;
  if (stage.encoder) seconds += encoder_;
  for (std::uint32_t module = 0; module < stage.mtp; ++module) seconds += mtp_;
  if (stage.head) seconds += head_;
  if (!stage.embedding || stage.layers.first > 0) return seconds;
  const std::uint32_t untrained = std::min(untrained_layers_, stage.layers.count);
  seconds = seconds - (before_[untrained] - first).without_forward();
  if (untrained < stage.layers.count) return seconds - lowest_excess_;
  if (!stage.head || trains_mtp_) return seconds;
  for (std::uint32_t module = 0; module < stage.mtp; ++module)
    seconds = seconds - mtp_.without_forward();
  return seconds - head_excess_;
}

double StageSums::total_seconds(const StageParts& stage) const {
  const auto [kernels, launches] = seconds_of(stage);
  return std::max(kernels.forward, launches.forward) +
         std::max(kernels.backward(), launches.backward());
}

DeviceSettings::DeviceSettings(const config::Model& model, const config::Training& training,
                               const config::Parallel& parallel,
                               const config::Communication& communication) {
  const auto add = [&](const config::Parallel& device_parallel) {
    settings_.push_back(
        {model, training, sizes_of(model, training, device_parallel, communication)});
  };
  if (parallel.tp_by_device.empty()) add(parallel);
  std::map<std::uint32_t, std::size_t> index_of_tp;
  for (std::uint32_t device = 0; device < parallel.tp_by_device.size(); ++device) {
    const auto [entry, is_new] = index_of_tp.try_emplace(parallel.tp_of(device), settings_.size());
    if (is_new) add(parallel.on(device));
    index_of_device_.push_back(entry->second);
  }
}

std::vector<StageSums> stage_sums(const DeviceSettings& settings,
                                  const std::vector<config::Gpu>& gpus,
                                  const std::optional<config::LayerTimes>& times) {
  std::vector<StageSums> sums;
  sums.reserve(gpus.size());
  for (std::size_t device = 0; device < gpus.size(); ++device)
    if (settings.repeats(device) && gpus[device] == gpus[device - 1])
      sums.push_back(sums.back());
    else
      sums.emplace_back(settings[device], gpus[device], times);
  return sums;
}

}  // namespace pipewright::workload
