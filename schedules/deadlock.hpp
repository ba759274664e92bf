#pragma once

#include <cstdint>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// A device that waits forever, and its next pass.
struct Blocked {
  std::uint32_t device = 0;
  Pass at;
};

// Thrown when every device that has passes left waits for a message that no device will send.
class Deadlock : public Error {
 public:
  Deadlock(const Schedule& schedule, std::vector<Blocked> blocked);
  const std::vector<Blocked>& blocked() const { return blocked_; }

 private:
  std::vector<Blocked> blocked_;
};

}  // namespace pipewright::schedules
