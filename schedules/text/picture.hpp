#pragma once

#include <string>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// The schedule as the papers draw it: a row per device, time to the right, F one cell per
// chunk-time, B two, dots where the device idles. Chunks are told apart by a letter.
std::string draw_text(const Schedule& schedule);

}  // namespace pipewright::schedules
