#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "schedules/families/blocks.hpp"
#include "schedules/families/families.hpp"

namespace pipewright::schedules {

// Interleaving in groups of g microbatches, ceil(p/2) <= g <= p (sail-sg,
// group_interleaved_1f1b.py; PipeOffload, arXiv 2503.01328): F goes one cell a device, I two, W
// comes right behind I. With g = p, in flight p and bubble 2(p-1)/v for F = I = W = 1; with g =
// p/2, (p/2)(1 + 1/v) in flight.
BuildingBlock grouped_interleaved_block(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t chunks = parameters.chunks.value_or(2);
  const std::int64_t group = parameters.group_size.value_or(parameters.devices);
  if (group < (p + 1) / 2 || group > p)
    throw Error(fmt::format("grouped-interleaved: group size {} with {} devices; {} to {} work",
                            group, p, (p + 1) / 2, p));
  BuildingBlock block{.name = "grouped-interleaved",
                      .devices = parameters.devices,
                      .routes = Routes::looped(parameters.devices, parameters.chunks.value_or(2)),
                      .microbatches = static_cast<std::uint32_t>(group),
                      .interval = 3 * group * chunks,
                      .passes = {},
                      .binding = false,
                      .reordered = false};
  // The next chunk follows after half a pipeline of microbatches, in whole groups. Where its inputs
  // are not there yet (two cells a device is more than that), squeezing moves it.
  const std::int64_t groups_between = ((p + 1) / 2 + group - 1) / group;
  const std::int64_t wrap = chunks / std::gcd(chunks, groups_between);
  const auto start_of_chunk = [&](std::int64_t k) {
    return 3 * group * groups_between * k + 3 * group * (k / wrap);  // the latter not to collide
  };
  const std::int64_t turn = start_of_chunk(chunks - 1) + p;  // the last F of microbatch 0 has ended
  for (std::int64_t k = 0; k < chunks; ++k)
    for (std::int64_t j = 0; j < group; ++j)
      for (std::int64_t r = 0; r < p; ++r) {
        const auto stage = static_cast<std::uint16_t>(k * p + r);
        const auto microbatch = static_cast<std::uint32_t>(j);
        const std::int64_t gradient =
            turn + start_of_chunk(chunks - 1 - k) + 3 * j + 2 * (p - 1 - r);
        block.passes.push_back(
            {{PassKind::forward, stage, microbatch}, start_of_chunk(k) + 3 * j + r});
        block.passes.push_back({{PassKind::input_grad, stage, microbatch}, gradient});
        block.passes.push_back({{PassKind::weight_grad, stage, microbatch}, gradient + 1});
      }
  return block;
}

// Where a device recomputes its first chunks, R comes right before I.
Schedule grouped_interleaved(const Parameters& parameters) {
  Schedule schedule = from_block<grouped_interleaved_block>(parameters);
  const std::uint32_t chunks = parameters.recompute.value_or(0);
  if (chunks > schedule.chunks)
    throw Error(
        fmt::format("grouped-interleaved: {} chunks to recompute of {} on a device; 0 to {} "
                    "work",
                    chunks, schedule.chunks, schedule.chunks));
  if (chunks == 0) return schedule;
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    schedule.recomputed.push_back(stage < chunks * schedule.devices);
  for (Program& program : schedule.programs)
    for (Loop& loop : program.loops) {
      std::vector<Pass> body;
      for (const Pass& pass : loop.body) {
        if (pass.kind == PassKind::input_grad && schedule.recomputes(pass.stage))
          body.push_back({PassKind::recompute, pass.stage, pass.microbatch});
        body.push_back(pass);
      }
      loop.body = std::move(body);
    }
  return schedule;
}

}  // namespace pipewright::schedules
