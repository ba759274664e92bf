#pragma once

#include "sim/config/communication.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

// The collectives inside the passes of a stage, as Megatron-LM places them: around each pair of
// matrices of tensor parallelism an all-reduce forward and one backward (arXiv 1909.08053), or with
// sequence parallelism an all-gather and a reduce-scatter (arXiv 2205.05198, figure 5) and in the
// backward pass the input gathered once more; ring attention's exchange of keys and values (arXiv
// 2310.01889); experts' dispatch and combination; the vocabulary's. With scatter_gather each rank
// of tp receives its part of a boundary tensor, which is then gathered (arXiv 2104.04473,
// section 4.1). Of `communication` also which of tp's run beside products.
StageTraffic stage_calls(const ModelSetting& setting, const StageParts& stage,
                         const config::Gpu& gpu, const config::Communication& communication);

}  // namespace pipewright::workload
