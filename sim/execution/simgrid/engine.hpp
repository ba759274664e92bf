#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// The SimGrid engine: an actor for each device of each simulated replica, and flows over the links
// of the cluster. Reports the rows of the first replica to the sink.
// Throws schedules::Deadlock if the devices wait for each other for ever.
void simulate(const Job& job, trace::Sink& sink);

}  // namespace pipewright::execution
