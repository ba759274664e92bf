#pragma once

#include "sim/config/communication.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

// Collectives inside the passes of a stage, where Megatron-LM places them:
// - tensor parallelism: an all-reduce in the forward and in the backward pass of each pair of
// matrices (arXiv 1909.08053), or with sequence parallelism an all-gather and a reduce-scatter, and
// another gather of the input in the backward pass (arXiv 2205.05198, figure 5);
// - ring attention's exchange of keys and values (arXiv 2310.01889);
// - dispatch and combination of the tokens of experts;
// - embedding, head and loss;
// - with scatter_gather, the gather of a boundary tensor, of which each rank of tp receives a part
// (arXiv 2104.04473, section 4.1). `communication` also determines which collectives of tp run
// beside products.
StageTraffic stage_calls(const ModelSetting& setting, const StageParts& stage,
                         const config::Gpu& gpu, const config::Communication& communication);

}  // namespace pipewright::workload
