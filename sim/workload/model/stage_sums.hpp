#pragma once

#include <optional>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"

namespace pipewright::workload {

// Seconds of the parts of any stage on one type of GPU.
class StageSums {
 public:
  StageSums(const ModelSetting& setting, const config::Gpu& gpu,
            const std::optional<config::LayerTimes>& times);

  // Of the kernels of those parts alone that are `wanted`, as the model has them.
  StageSums(const ModelSetting& setting, const config::Gpu& gpu, bool (*wanted)(Part part));

  PartSeconds of(const StageParts& stage) const;
  // Of all its passes, each as long as its kernels or its host.
  double longest(const StageParts& stage) const;

 private:
  template <class OfKind, class Settle>
  void add_layers(const ModelSetting& setting, const OfKind& of_kind, const Settle& settle);

  std::vector<PartSeconds> before_;  // of all layers before this one
  std::uint32_t block_ = 0;          // layers at the start of a stage that are recomputed; 0: all
  PartSeconds embedding_;
  PartSeconds mtp_;
  PartSeconds head_;  // as often as it runs
};

// What of the model one GPU of each device has, of which most have the same.
class DeviceSettings {
 public:
  DeviceSettings(const config::Model& model, const config::Training& training,
                 const config::Parallel& parallel, const config::Communication& communication);

  const ModelSetting& operator[](std::size_t device) const {
    return settings_[of_device_.empty() ? 0 : of_device_[device]];
  }
  const ModelSetting& any() const { return settings_.front(); }  // for what all have alike
  // Whether a device has what the one before it has.
  bool repeats(std::size_t device) const {
    return device > 0 && (of_device_.empty() || of_device_[device] == of_device_[device - 1]);
  }

 private:
  std::vector<ModelSetting> settings_;
  std::vector<std::size_t> of_device_;  // empty: all have the one
};

// By device, of which most have the same GPU.
std::vector<StageSums> stage_sums(const DeviceSettings& settings,
                                  const std::vector<config::Gpu>& gpus,
                                  const std::optional<config::LayerTimes>& times);

}  // namespace pipewright::workload
