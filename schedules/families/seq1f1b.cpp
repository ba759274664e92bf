#include <cstdint>

#include "schedules/families/families.hpp"
#include "schedules/families/one_by_one.hpp"

namespace pipewright::schedules {

// Seq1F1B (Sun et al. 2024, arXiv 2406.03488): 1F1B over q slices of each microbatch's sequence.
// Causal attention takes the slices forward in order, and backward in reverse. Bubble
// (p-1)(F+B)/q for even slices; in flight min(p-1-r+q, m q)/q.
Schedule seq_one_f_one_b(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t slices = parameters.slices.value_or(2);
  const std::uint32_t entries = parameters.microbatches * slices;
  Schedule schedule{.name = "seq1f1b",
                    .devices = devices,
                    .microbatches = parameters.microbatches,
                    .iterations = parameters.iterations,
                    .slices = slices,
                    .routes = Routes::looped(devices, 1),
                    .programs = {}};
  for (std::uint16_t stage = 0; stage < devices; ++stage) {
    const auto pass = [slices, stage](std::uint32_t entry, PassKind kind) -> Pass {
      const std::uint32_t slice = entry % slices;
      const bool forward = kind == PassKind::forward;
      return {kind, stage, entry - slice + (forward ? slice : slices - 1 - slice)};
    };
    Program program = one_by_one({.entries = entries,
                                  .regular = entries,
                                  .period = slices,
                                  .microbatches_a_period = slices,
                                  .pass = pass},
                                 {.warmup = devices - 1 - stage + slices - 1});
    program.iterations = parameters.iterations;
    program.iteration_step = entries;
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

}  // namespace pipewright::schedules
