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

// Breadth-first (Lamy-Poirier 2023, arXiv 2211.05953; PyTorch's ScheduleLoopedBFS): chunk by chunk
// F of all microbatches, then all B, chunks and microbatches in reverse.
// Bubble (p-1)(F+B)/v for m >= p; in flight m.
Schedule looped_bfs(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t chunks = parameters.chunks.value_or(2);
  Schedule schedule{.name = "looped-bfs",
                    .devices = devices,
                    .chunks = chunks,
                    .microbatches = microbatches,
                    .iterations = parameters.iterations,
                    .routes = Routes::looped(devices, chunks),
                    .programs = {}};
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto stage = [&](std::uint32_t chunk) {
      return static_cast<std::uint16_t>(chunk * devices + device);
    };
    Program program{
        .loops = {}, .iterations = parameters.iterations, .iteration_step = microbatches};
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      program.repeat(microbatches, 1, {{PassKind::forward, stage(chunk), 0}});
    for (std::uint32_t chunk = chunks; chunk-- > 0;)
      program.repeat(microbatches, -1, {{PassKind::backward, stage(chunk), microbatches - 1}});
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

}  // namespace pipewright::schedules
