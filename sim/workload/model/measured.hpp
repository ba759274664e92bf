#pragma once

#include "sim/config/communication.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/traffic.hpp"

// Times of a model's parts that were measured. They replace the modelled times, and include the
// collectives within their passes.
namespace pipewright::workload {

// Measured times of a layer of this kind: its own or, where there are none, those of all layers.
config::PartTimes times_of_layers(const config::LayerTimes& times, LayerKind kind);

// Replaces the modelled seconds of a part by measured ones; `layer` selects the time if there is
// one per layer. A measured whole backward pass is divided into I and W in the modelled ratio.
// Recomputation scales with F, unless it was measured with the backward pass.
PassSeconds with_measured_times(const PassSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer = 0);
// Measured times also include the host's launches.
PartSeconds with_measured_times(const PartSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer = 0);

// Calls of a stage outside of the passes that were measured.
StageTraffic unmeasured_calls(const ModelSetting& setting, const StageParts& stage,
                              const config::Gpu& gpu, const config::Communication& communication,
                              const config::LayerTimes& times);

}  // namespace pipewright::workload
