#pragma once

#include "analysis/comm/operation.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::comm {

// What a benchmark's operation is called in a training job.
workload::Collective collective_of(analysis::Operation operation);

}  // namespace pipewright::comm
