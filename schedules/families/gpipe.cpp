#include "schedules/families/families.hpp"

namespace pipewright::schedules {

// GPipe (Huang et al. 2019, arXiv 1811.06965): F of microbatches 0..m-1, then B of 0..m-1.
// Bubble (p-1)(F+B); in flight m.
Schedule gpipe(const Parameters& parameters) {
  const std::uint32_t microbatches = parameters.microbatches;
  Schedule schedule{.name = "gpipe",
                    .devices = parameters.devices,
                    .microbatches = microbatches,
                    .iterations = parameters.iterations,
                    .routes = Routes::looped(parameters.devices, 1),
                    .programs = {}};
  for (std::uint16_t stage = 0; stage < parameters.devices; ++stage) {
    Program program{
        .loops = {}, .iterations = parameters.iterations, .iteration_step = microbatches};
    program.repeat(microbatches, 1, {{PassKind::forward, stage, 0}});
    program.repeat(microbatches, 1, {{PassKind::backward, stage, 0}});
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

}  // namespace pipewright::schedules
