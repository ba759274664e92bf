#include "schedules/families/families.hpp"

namespace pipewright::schedules {

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
