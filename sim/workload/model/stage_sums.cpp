#include "sim/workload/model/stage_sums.hpp"

#include <algorithm>
#include <map>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/measured.hpp"

namespace pipewright::workload {

StageSums::StageSums(const ModelSetting& setting, const config::Gpu& gpu,
                     const std::optional<config::LayerTimes>& times)
    : embedding_(embedding_seconds(setting, gpu)), head_(head_seconds(setting, gpu)) {
  const auto kinds =
      by_kind(setting.model, [&](LayerKind kind) { return layer_seconds(setting, kind, gpu); });
  if (times) {
    embedding_ = measured(embedding_, times->embedding);
    head_ = measured(head_, times->head);
  }
  const PartSeconds one_head = head_;
  for (std::uint32_t module = 0; module < setting.model.mtp_layers; ++module) head_ += one_head;
  if (setting.model.mtp_layers > 0) mtp_ = mtp_seconds(setting, gpu);
  add_layers(
      setting, [&](LayerKind kind) { return kinds[static_cast<std::size_t>(kind)]; },
      [&](const PartSeconds& own, LayerKind kind, std::uint32_t layer) {
        return times ? measured(own, times_of_layers(*times, kind), layer) : own;
      });
}

StageSums::StageSums(const ModelSetting& setting, const config::Gpu& gpu,
                     bool (*wanted)(Part part)) {
  const auto kinds = by_kind(setting.model, [&](LayerKind kind) {
    return PartSeconds{.kernels = layer_seconds(setting, kind, gpu, wanted), .launches = {}};
  });
  if (setting.model.mtp_layers > 0) mtp_.kernels = mtp_seconds(setting, gpu, wanted);
  add_layers(
      setting, [&](LayerKind kind) { return kinds[static_cast<std::size_t>(kind)]; },
      [](const PartSeconds& own, LayerKind, std::uint32_t) { return own; });
}

// What a layer adds is its kind's, without what it does not make again.
template <class OfKind, class Settle>
void StageSums::add_layers(const ModelSetting& setting, const OfKind& of_kind,
                           const Settle& settle) {
  block_ = setting.training.recompute.block;
  before_.resize(setting.model.layers + 1);
  const LayerRange all{0, setting.model.layers};
  config::Recompute everywhere = setting.training.recompute;
  everywhere.block = 0;
  for (std::uint32_t layer = 0; layer < setting.model.layers; ++layer) {
    const LayerKind kind = kind_of_layer(setting.model, layer);
    PartSeconds own = of_kind(kind);
    if (!is_recomputed(everywhere, all, layer))
      own.kernels.recomputed = own.launches.recomputed = 0;
    before_[layer + 1] = before_[layer];
    before_[layer + 1] += settle(own, kind, layer);
  }
}

PartSeconds StageSums::of(const StageParts& stage) const {
  const PartSeconds& first = before_[stage.layers.first];
  const std::uint32_t again =
      block_ > 0 ? std::min(block_, stage.layers.count) : stage.layers.count;
  PartSeconds seconds = before_[stage.layers.first + stage.layers.count] - first;
  const PartSeconds repeated = before_[stage.layers.first + again] - first;
  seconds.kernels.recomputed = repeated.kernels.recomputed;
  seconds.launches.recomputed = repeated.launches.recomputed;
  if (stage.embedding) seconds += embedding_;
  for (std::uint32_t module = 0; module < stage.mtp; ++module) seconds += mtp_;
  if (stage.head) seconds += head_;
  return seconds;
}

double StageSums::longest(const StageParts& stage) const {
  const auto [kernels, launches] = of(stage);
  return std::max(kernels.forward, launches.forward) +
         std::max(kernels.backward(), launches.backward());
}

DeviceSettings::DeviceSettings(const config::Model& model, const config::Training& training,
                               const config::Parallel& parallel,
                               const config::Communication& communication) {
  const auto add = [&](const config::Parallel& of_device) {
    settings_.push_back({model, training, sizes_of(model, training, of_device, communication)});
  };
  if (parallel.tp_by_device.empty()) add(parallel);
  std::map<std::uint32_t, std::size_t> of_tp;
  for (std::uint32_t device = 0; device < parallel.tp_by_device.size(); ++device) {
    const auto [known, is_new] = of_tp.try_emplace(parallel.tp_of(device), settings_.size());
    if (is_new) add(parallel.on(device));
    of_device_.push_back(known->second);
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
