#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {

// GPipe (Huang et al. 2019, arXiv 1811.06965): F of microbatches 0..m-1, then B of 0..m-1. Bubble
// (p-1)(F+B); m microbatches in flight.
Schedule gpipe(const Parameters& parameters) {
  const auto one_device = [&](std::uint32_t device) {
    const auto stage = static_cast<std::uint16_t>(device);
    Program program;
    program.repeat(parameters.microbatches, 1, {{PassKind::forward, stage, 0}});
    program.repeat(parameters.microbatches, 1, {{PassKind::backward, stage, 0}});
    return program;
  };
  return with_programs(without_programs("gpipe", parameters, Routes::looped(parameters.devices, 1)),
                       one_device);
}

// Breadth-first (Lamy-Poirier 2023, arXiv 2211.05953; PyTorch's ScheduleLoopedBFS): F of all
// microbatches chunk by chunk, then all B with chunks and microbatches in reverse. Bubble
// (p-1)(F+B)/v for m >= p; m microbatches in flight.
Schedule looped_bfs(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t chunks = parameters.chunks.value_or(usual_chunks);
  const auto one_device = [&](std::uint32_t device) {
    const auto stage = [&](std::uint32_t chunk) {
      return static_cast<std::uint16_t>(chunk * devices + device);
    };
    Program program;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
      program.repeat(microbatches, 1, {{PassKind::forward, stage(chunk), 0}});
    for (std::uint32_t chunk = chunks; chunk-- > 0;)
      program.repeat(microbatches, -1, {{PassKind::backward, stage(chunk), microbatches - 1}});
    return program;
  };
  return with_programs(without_programs("looped-bfs", parameters, Routes::looped(devices, chunks)),
                       one_device);
}

}  // namespace pipewright::schedules
