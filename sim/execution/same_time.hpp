#pragma once

namespace pipewright::execution {

// Times of events that differ by at most so many seconds are the same time: the simulation engine
// may merge such events, and sums of the same durations differ in their last digits.
inline constexpr double same_time = 1e-9;

}  // namespace pipewright::execution
