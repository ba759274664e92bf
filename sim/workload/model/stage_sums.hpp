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

// By device, of which most have the same GPU.
std::vector<StageSums> stage_sums(const ModelSetting& setting, const std::vector<config::Gpu>& gpus,
                                  const std::optional<config::LayerTimes>& times);

}  // namespace pipewright::workload
