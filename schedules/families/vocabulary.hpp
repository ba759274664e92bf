#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

// The passes S and T of a vocabulary that is split over all devices (Yeung et al. 2024, arXiv
// 2411.05288), in the orders of the authors' programs.
namespace pipewright::schedules {

// Returns the number of barriers. Throws Error unless it is 0, or at least `smallest` and at
// most 2.
std::uint32_t barriers_of(std::string_view name, const Parameters& parameters,
                          std::uint32_t smallest = 1);

// Returns the passes of a device of 1F1B with a split vocabulary.
Program one_f_one_b_with_vocabulary(std::uint32_t device, const Parameters& parameters);

// Adds S and T to a schedule of one iteration in the V placement, at the times that follow from
// those of its passes.
void add_vocabulary_to_v(Schedule& schedule, const Parameters& parameters);

// Appends S and T of a microbatch, one after the other.
void add_vocabulary_after(std::vector<Pass>& body, std::uint16_t stage, std::uint32_t microbatch);

}  // namespace pipewright::schedules
