#include <algorithm>
#include <stdexcept>

#include "schedules/timing.hpp"
#include "sim/execution/idle_step.hpp"
#include "sim/execution/neighbours.hpp"
#include "sim/execution/recorder.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::execution {
namespace {

// What each boundary costs when nothing contends.
schedules::HopTimes uncontended(const Job& job) {
  schedules::HopTimes hops(0);
  for (const auto& [a, b] : neighbours(job.schedule.routes))
    hops.set(a, b,
             job.cluster.route(job.host(0, a), job.host(0, b)).seconds(job.costs.boundary_bytes));
  return hops;
}

}  // namespace

void time(const Job& job, trace::Sink& sink) {
  const schedules::HopTimes hops = uncontended(job);
  IdleStep step(job, sink);
  std::vector<Recorder> recorders;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    recorders.emplace_back(job, device, sink);

  const std::uint32_t last = job.schedule.stages() - 1;
  schedules::Timing timing(job.schedule, job.costs.times, hops, job.p2p);
  timing.run(
      [&](std::uint32_t device, const schedules::Pass& pass, const schedules::PassSpan& span) {
        const bool forward = pass.kind == schedules::PassKind::forward;
        const bool has_input =
            forward ? pass.stage > 0 : schedules::sends_gradient(pass.kind) && pass.stage < last;
        if (has_input) {
          const std::uint32_t from = forward ? pass.stage - 1 : pass.stage + 1;
          const std::uint32_t source = job.schedule.routes.device(from, pass.microbatch);
          if (source != device)
            sink.transfer(
                {.source = source,
                 .destination = device,
                 .stage = from,
                 .microbatch = pass.microbatch,
                 .kind = forward ? trace::TransferKind::activation : trace::TransferKind::gradient,
                 .bytes = job.costs.boundary_bytes * job.ranks_per_stage(),
                 .posted = span.sent,
                 .start = span.ready - hops(source, device),
                 .end = span.ready});
        }
        recorders[device].record(pass, span);
        step.pass(device, pass, span);
      },
      [&](std::uint32_t device, const schedules::Pass& pass, const schedules::Pass* partner,
          double ready) { return step.start(device, pass, partner, ready); });
  step.finish();
}

}  // namespace pipewright::execution
