#pragma once

#include <cstdint>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// A device that cannot go on, and the pass it is at.
struct Blocked {
  std::uint32_t device = 0;
  Pass at;
};

// Every device that still has work waits for a message that nobody will send.
class Deadlock : public Error {
 public:
  Deadlock(const Schedule& schedule, std::vector<Blocked> blocked);
  const std::vector<Blocked>& blocked() const { return blocked_; }

 private:
  std::vector<Blocked> blocked_;
};

}  // namespace pipewright::schedules
