#pragma once

#include <optional>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"

namespace pipewright::workload {

// Computes the seconds of any stage on one type of GPU quickly, from running sums over the model's
// layers.
class StageSums {
 public:
  StageSums(const ModelSetting& setting, const config::Gpu& gpu,
            const std::optional<config::LayerTimes>& times);

  // Counts only the kernels of parts for which includes(part) holds, as modelled even if times were
  // measured.
  StageSums(const ModelSetting& setting, const config::Gpu& gpu, bool (*includes)(Part part));

  PartSeconds seconds_of(const StageParts& stage) const;
  // Returns the seconds of one F and one backward pass of a stage together. Each of the two is
  // limited by its kernels or by its host's launches.
  double total_seconds(const StageParts& stage) const;

 private:
  template <class LayerSeconds, class Adjust>
  void add_layers(const ModelSetting& setting, const LayerSeconds& layer_seconds,
                  const Adjust& adjust);

  // Sets the work that the first stage does not compute. excess(kernels) returns the part of a
  // layer's or the head's I that lies below the first trained product.
  template <class Excess>
  void set_untrained(const ModelSetting& setting, const Excess& excess);

  std::vector<PartSeconds> before_;  // sum over all layers before this one
  std::uint32_t block_ = 0;          // layers at the start of a stage that are recomputed; 0: all
  PartSeconds embedding_;
  PartSeconds encoder_;
  PartSeconds mtp_;
  PartSeconds head_;                    // all runs of the head
  std::uint32_t untrained_layers_ = 0;  // layers without a backward pass on the first stage
  bool trains_mtp_ = true;
  PartSeconds lowest_excess_;  // part of I that the lowest trained layer does not compute
  PartSeconds head_excess_;  // part of I that the head does not compute if nothing below is trained
};

// The model setting of one GPU of each device. Most devices have the same setting, which is stored
// once.
class DeviceSettings {
 public:
  DeviceSettings(const config::Model& model, const config::Training& training,
                 const config::Parallel& parallel, const config::Communication& communication);

  const ModelSetting& operator[](std::size_t device) const {
    return settings_[index_of_device_.empty() ? 0 : index_of_device_[device]];
  }
  // Returns the setting of an arbitrary device, for members that are the same on all devices.
  const ModelSetting& any() const { return settings_.front(); }
  // Returns whether a device has the same setting as the device before it.
  bool repeats(std::size_t device) const {
    return device > 0 &&
           (index_of_device_.empty() || index_of_device_[device] == index_of_device_[device - 1]);
  }

 private:
  std::vector<ModelSetting> settings_;
  std::vector<std::size_t> index_of_device_;  // empty: one setting for all
};

// Returns the running sums for each device. Devices with the same GPU share them.
std::vector<StageSums> stage_sums(const DeviceSettings& settings,
                                  const std::vector<config::Gpu>& gpus,
                                  const std::optional<config::LayerTimes>& times);

}  // namespace pipewright::workload
