#pragma once

#include "sim/config/communication.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/traffic.hpp"

// Times that were measured of a model's parts stand above what the model says, and hold the
// collectives within their passes.
namespace pipewright::workload {

// Those of a layer of that kind: its own, or those of all layers.
config::PartTimes times_of_layers(const config::LayerTimes& times, LayerKind kind);

// Seconds of a part, or of that layer where there is a time for each. A whole backward goes to I
// and W as the model shares it; what is recomputed takes as many times longer as F, unless it was
// measured with them.
PassSeconds measured(const PassSeconds& model, const config::PartTimes& times,
                     std::uint32_t layer = 0);
// And what the host needs for it is in what was measured.
PartSeconds measured(const PartSeconds& model, const config::PartTimes& times,
                     std::uint32_t layer = 0);

// The calls of a stage that are within no pass that was measured.
StageTraffic unmeasured_calls(const ModelSetting& setting, const StageParts& stage,
                              const config::Gpu& gpu, const config::Communication& communication,
                              const config::LayerTimes& times);

}  // namespace pipewright::workload
