#pragma once

namespace pipewright::execution {

// Largest difference, in seconds, between times that count as equal. The simulation engine may
// merge events that are so close, and sums of the same durations differ in their last digits.
inline constexpr double same_time = 1e-9;

}  // namespace pipewright::execution
