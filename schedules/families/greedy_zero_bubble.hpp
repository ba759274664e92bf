#pragma once

#include <cstdint>
#include <string>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// The automatic schedule of Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv 2401.10241,
// section 3.1) for one stage a device: planned with `device_times` and `hop`, the best of eight
// variants by the longest time from a device's first pass to its last. No device ever holds more
// than the activations of so many microbatches, of which I releases `input_grad_releases`.
Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches);

}  // namespace pipewright::schedules
