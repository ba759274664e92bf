#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Runs a job and reports every row to the sink, between begin() and finish(). `info` is what the
// caller knows of the run; what the job knows (sizes, schedule, engine) is filled in here.
// Throws schedules::Deadlock if the devices wait for each other for ever.
void run(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

}  // namespace pipewright::execution
