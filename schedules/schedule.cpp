#include "schedules/schedule.hpp"

#include <algorithm>

namespace pipewright::schedules {

std::uint64_t Schedule::size() const {
  std::uint64_t passes = 0;
  for (const Program& program : programs) passes += program.size();
  return passes;
}

namespace {

template <class Predicate>
bool any_pass(const Schedule& schedule, Predicate matches) {
  for (const Program& program : schedule.programs)
    for (const Loop& loop : program.loops)
      if (std::any_of(loop.body.begin(), loop.body.end(), matches)) return true;
  return false;
}

}  // namespace

void set_iterations(Schedule& schedule, std::uint32_t iterations) {
  schedule.iterations = iterations;
  for (Program& program : schedule.programs) {
    program.iterations = iterations;
    program.iteration_step = schedule.microbatches * schedule.slices;
  }
}

bool has_fused_pairs(const Schedule& schedule) {
  return any_pass(schedule, [](const Pass& pass) { return pass.fused; });
}

bool splits_backward(const Schedule& schedule) {
  return any_pass(schedule, [](const Pass& pass) { return pass.kind == PassKind::input_grad; });
}

std::vector<double> peak_in_flight(const Schedule& schedule) {
  std::vector<double> peaks;
  peaks.reserve(schedule.programs.size());
  for (const Program& program : schedule.programs) {
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (PassCursor at(program); !at.done(); at.next()) {
      const Pass pass = at.pass();
      if (takes_activations(schedule, pass)) peak = std::max(peak, ++held);
      if (ends_microbatch(pass.kind)) --held;
    }
    peaks.push_back(static_cast<double>(peak) * schedule.share());
  }
  return peaks;
}

}  // namespace pipewright::schedules
