#pragma once

#include "sim/config/communication.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/traffic.hpp"

// Replaces the modelled times of a model's parts by measured ones, which include the collectives
// within the passes.
namespace pipewright::workload {

// Returns the measured times of layers of this kind or, if this kind was not measured, those that
// hold for all layers.
config::PartTimes times_of_layers(const config::LayerTimes& times, LayerKind kind);

// Replaces the modelled seconds of a part by measured ones; if there is one per layer, `layer`
// selects it. A measured whole backward pass is divided into I and W in the modelled ratio. The
// seconds of recomputation are scaled like those of F, unless they were measured as part of the
// backward pass.
PassSeconds with_measured_times(const PassSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer = 0);
// Replaces the modelled seconds of a part by measured ones, and sets the launches of a measured
// pass to 0, since the measured time includes them.
PartSeconds with_measured_times(const PartSeconds& model, const config::PartTimes& times,
                                std::uint32_t layer = 0);

// Returns the collective calls of a stage that the measured times do not include.
StageTraffic unmeasured_calls(const ModelSetting& setting, const StageParts& stage,
                              const config::Gpu& gpu, const config::Communication& communication,
                              const config::LayerTimes& times);

}  // namespace pipewright::workload
