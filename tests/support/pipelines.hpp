#pragma once

#include <array>

#include "schedules/justify.hpp"

namespace pipewright::tests {

// Makes a pipeline with the same times of F, I and W on all devices, each with memory for `memory`
// microbatches. I frees the part `early` of the activations.
schedules::Pipeline pipeline(const schedules::Routes& routes, std::uint32_t devices,
                             std::uint32_t microbatches, const std::array<double, 3>& times,
                             double hop, double memory, double early = 0);

// Returns the span bubble of v_auto_schedule.py (sail-sg) for F = I = W, in cells of half a unit,
// with memory for L half activations on each of p devices.
double published_cells(double p, double L);

}  // namespace pipewright::tests
