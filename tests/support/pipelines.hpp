#pragma once

#include <array>

#include "schedules/justify.hpp"

namespace pipewright::tests {

// A pipeline whose devices all take these times for F, I and W and may hold `memory` microbatches;
// I frees the part `early` of what F took.
schedules::Pipeline pipeline(const schedules::Routes& routes, std::uint32_t devices,
                             std::uint32_t microbatches, const std::array<double, 3>& times,
                             double hop, double memory, double early = 0);

// Span bubble in cells of half a unit that v_auto_schedule.py (sail-sg) reaches for F = I = W with
// room for L half activations on each of p devices.
double published_cells(double p, double L);

}  // namespace pipewright::tests
