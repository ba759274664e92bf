#pragma once

#include <array>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

namespace pipewright::jobs {

// Sets the keys of training.optimizer.offload from the sections offload_optimizer and offload_param
// of DeepSpeed's JSON. Reads parallel.zero, which must be set before.
void read_zero_offload(Draft& draft);

// Keys of DeepSpeed's JSON that move the optimizer or weights to host memory, by their dotted
// names. The last three are those of DeepSpeed before 0.3.16.
inline constexpr std::array zero_offload_flags{
    Flag{.name = "zero_optimization.offload_optimizer.device",
         .key = "training.optimizer.offload.gradients",
         .read = read_zero_offload},
    Flag{.name = "zero_optimization.offload_optimizer.ratio",
         .key = "training.optimizer.offload.fraction",
         .read = read_zero_offload},
    Flag{.name = "zero_optimization.offload_param.device",
         .key = "training.optimizer.offload.weights",
         .read = read_zero_offload},
    Flag{.name = "zero_optimization.cpu_offload",
         .key = "training.optimizer.offload.gradients",
         .read = read_zero_offload},
    Flag{.name = "zero_optimization.cpu_offload_params",
         .key = "training.optimizer.offload.weights",
         .read = read_zero_offload},
    Flag{.name = "zero_optimization.cpu_offload_param",
         .key = "training.optimizer.offload.weights",
         .read = read_zero_offload},
};

}  // namespace pipewright::jobs
