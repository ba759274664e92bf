#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"

// Takes numbers that a GPU's file does not state from the file of a measured GPU, which the key
// `like` names, and scales them to the GPU's peak, memory and power. Fractions of a peak or of a
// bandwidth and fixed times stay. Three numbers are scaled:
//   - The length at which attention reaches half of its rate: a fixed time is worth more keys on
//     processors that are faster.
//   - The clock: the power of a chip grows with the clock to the power of 2.5, since the voltage
//     follows the clock. A GPU with less power for each FLOP/s therefore keeps less of its clock.
//   - Memory that is free on an empty GPU and power at idle: the same fractions of the whole.
namespace pipewright::config {

// Exponent with which the power of a chip grows with its clock.
inline constexpr double power_exponent = 2.5;

// Value of `like` of a GPU that has no numbers of another.
inline constexpr std::string_view no_gpu = "none";

// Returns the keys of a GPU's map with the numbers that it does not state. The result has no key
// `like`. Its key `derived` lists the added keys by the GPU whose file states them, and `assumed`
// also has those of them that are assumed there. Numbers that follow from a range of published
// values (published_range.hpp) follow from its middle. A map without `like`, or with `like: none`,
// gets no numbers. Throws an Error if the GPU is unknown or derives from itself.
Value derived_gpu_tree(const Field& map);

// Removes a key that was measured, and maps that contain it, from the lists `assumed` and `derived`
// of a GPU's map.
void mark_measured(Value& tree, std::string_view key);

}  // namespace pipewright::config
