#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/fitted.hpp"
#include "schedules/families/vocabulary.hpp"

// V-shaped zero-bubble families (Qi et al. 2024, arXiv 2405.15362, section 3.2): device r of p
// holds stages r and 2p-1-r. The block gives the cells of F and I; W passes take free cells.
namespace pipewright::schedules {
namespace {

// Cells of the four F and I passes of each device. Each is a linear function of the device: the
// cell on device 0, plus a slope per device.
struct LinearCell {
  std::int64_t start, slope;
  std::int64_t at(std::uint32_t device) const { return start + slope * device; }
};
struct Lines {
  LinearCell forward_down, forward_up, input_grad_down, input_grad_up;
};

BuildingBlock v_block(std::string name, std::uint32_t devices, const Lines& lines,
                      std::uint32_t peak) {
  BuildingBlock block{.name = std::move(name),
                      .devices = devices,
                      .routes = Routes::v_shape(devices),
                      .passes = {},
                      .peak = peak};
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto lower = static_cast<std::uint16_t>(device);
    const auto upper = static_cast<std::uint16_t>(2 * devices - 1 - device);
    block.passes.push_back({{PassKind::forward, lower}, lines.forward_down.at(device)});
    block.passes.push_back({{PassKind::forward, upper}, lines.forward_up.at(device)});
    block.passes.push_back({{PassKind::input_grad, upper}, lines.input_grad_down.at(device)});
    block.passes.push_back({{PassKind::input_grad, lower}, lines.input_grad_up.at(device)});
  }
  place_weight_grads(block);
  return block;
}

}  // namespace

// V-Min: F and I take one cell per device in both directions, so each chunk's activation lives for
// 2p/3 intervals at most. floor((p+4)/3) microbatches in flight.
BuildingBlock v_min(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t gap = p % 3 == 0 ? 2 : 0;  // or I of stage 2p-1 would collide
  return v_block("v-min", parameters.devices,
                 {{0, 1}, {2 * p - 1, -1}, {2 * p + gap, 1}, {4 * p + gap - 1, -1}},
                 2 * ((parameters.devices + 4) / 3));
}

// V-Half: F and I take two cells per device on the way down and one on the way up. floor((p+2)/2)
// microbatches in flight. Each barrier of a partitioned vocabulary delays I by an interval, which
// puts one more in flight (stable_pattern_v_half in branch v-half-vocab of
// sail-sg/zero-bubble-pipeline-parallelism, which does not reorder the block then).
BuildingBlock v_half(const Parameters& parameters) {
  constexpr std::int64_t interval = 6;
  const std::uint32_t barriers = barriers_of("v-half", parameters);
  const std::int64_t p = parameters.devices;
  const std::int64_t gap = (p % 2 == 0 ? 3 : 0) + interval * barriers;
  BuildingBlock block =
      v_block("v-half", parameters.devices,
              {{0, 2}, {3 * p - 2, -1}, {3 * p - 1 + gap, 2}, {6 * p - 2 + gap, -1}},
              2 * ((parameters.devices + 2) / 2 + barriers));
  block.reordered = barriers == 0;
  return block;
}

// V-ZB: F and I take 4 cells per device on the way down and 2 on the way up; these four offsets add
// up to two intervals. p microbatches in flight, as with 1F1B.
BuildingBlock v_zb(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t turn = 4 * (p - 1) + 1;    // F of stage p
  const std::int64_t top = turn + 2 * (p - 1);  // F of the last stage
  return v_block("v-zb", parameters.devices,
                 {{0, 4}, {top, -2}, {top + 1, 4}, {top + 2 + 6 * (p - 1), -2}},
                 2 * parameters.devices);
}

Schedule v_min_for_times(const Parameters& parameters) {
  return fitted_block(v_min(parameters), parameters);
}
Schedule v_half_for_times(const Parameters& parameters) {
  const BuildingBlock block = v_half(parameters);
  // An order fitted to times of F and I would not wait for barriers between them.
  if (parameters.barriers.value_or(0) == 0) return fitted_block(block, parameters);
  Schedule schedule = build(block, parameters.microbatches);
  add_vocabulary_to_v(schedule, parameters);
  set_iterations(schedule, parameters.iterations);
  return schedule;
}
Schedule v_zb_for_times(const Parameters& parameters) {
  return fitted_block(v_zb(parameters), parameters);
}

// 1F1B-V: backwards are not split and take two adjacent cells
// (sail-sg/zero-bubble-pipeline-parallelism, v1f1b.py). Their cells skip half an interval, where
// the forwards are, after every third backward. ceil((2p+1)/3) microbatches in flight.
BuildingBlock one_f_one_b_v(const Parameters& parameters) {
  const std::uint32_t p = parameters.devices;
  BuildingBlock block{.name = "1f1b-v",
                      .devices = p,
                      .routes = Routes::v_shape(p),
                      .passes = {},
                      .peak = 2 * ((2 * p + 3) / 3)};
  for (std::uint32_t device = 0; device < p; ++device) {
    block.passes.push_back({{PassKind::forward, static_cast<std::uint16_t>(device)}, device + 1});
    block.passes.push_back({{PassKind::forward, static_cast<std::uint16_t>(2 * p - 1 - device)},
                            2 * std::int64_t{p} - device});
  }
  std::int64_t clock = 2 * std::int64_t{p} + 1 + (p % 3 == 0 ? 3 : 0);
  std::uint32_t since_skip = (3 - (p + 2) % 3) % 3;
  for (std::uint32_t stage = 2 * p; stage-- > 0;) {
    block.passes.push_back({{PassKind::backward, static_cast<std::uint16_t>(stage)}, clock});
    clock += 2;
    if (++since_skip == 3) since_skip = 0, clock += 3;
  }
  return block;
}

// Two-thirds 1F1B: 1F1B with separate I and W and two microbatches per block (type 2 of the
// schedule generator beside arXiv 2405.15362). F and I advance one device per cell. Two
// microbatches share an interval, one on even cells and one on odd cells. 2 ceil((p-r+1)/3)
// microbatches in flight on device r: two thirds of 1F1B. Bubble 2p-3 for F = I = W = 1.
BuildingBlock two_thirds_1f1b(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  BuildingBlock block{.name = "two-thirds-1f1b",
                      .devices = parameters.devices,
                      .routes = Routes::looped(parameters.devices, 1),
                      .microbatches = 2,
                      .passes = {}};
  for (std::uint32_t j = 0; j < 2; ++j)
    for (std::uint16_t stage = 0; stage < p; ++stage) {
      block.passes.push_back({{PassKind::forward, stage, j}, stage + 2 * std::int64_t{j}});
      block.passes.push_back(
          {{PassKind::input_grad, stage, j}, 2 * p - 1 - stage + 2 * std::int64_t{j}});
    }
  place_weight_grads(block);
  return block;
}

// Chimera (Li and Hoefler 2021, arXiv 2107.06925): a unit of p microbatches, half of which enter at
// each end, so that each device holds two stages. On either way, microbatches follow one another
// every second cell, F and B advance one device per cell, and F of one way fill the cells between
// those of the other. A new unit begins every 2p cells. For F = B the makespan is 2m + p - 2;
// p/2 + 1 + min(r, p-1-r) microbatches are in flight on device r.
BuildingBlock chimera_block(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  if (devices % 2 != 0)
    throw Error(fmt::format("chimera: devices must be even, for two directions, not {}; {} work",
                            devices, devices + 1));
  const std::int64_t p = devices;
  BuildingBlock block{.name = "chimera",
                      .devices = devices,
                      .routes = Routes::both_ways(devices),
                      .microbatches = devices,
                      .interval = 2 * p,
                      .lengths = {1, 1, 1, 1, 1, 1, 1},
                      .passes = {},
                      .reordered = false};
  for (std::uint32_t microbatch = 0; microbatch < devices; ++microbatch)
    for (std::uint16_t stage = 0; stage < devices; ++stage) {
      const std::int64_t first = microbatch / 2 * std::int64_t{2};
      block.passes.push_back({{PassKind::forward, stage, microbatch}, first + stage});
      block.passes.push_back(
          {{PassKind::backward, stage, microbatch}, first + p + (p - 1 - stage)});
    }
  return block;
}

Schedule chimera(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  if (devices % 2 == 0 && microbatches % devices != 0)
    throw Error(
        fmt::format("chimera: microbatches must be a multiple of the {} devices, not {}; {} work",
                    devices, microbatches, std::max(1U, microbatches / devices) * devices));
  return from_block<chimera_block>(parameters);
}

// Interleaving in groups of g microbatches, ceil(p/2) <= g <= p (sail-sg,
// group_interleaved_1f1b.py; PipeOffload, arXiv 2503.01328): F takes one cell per device, I two,
// and W follows I. With g = p, p microbatches are in flight and the bubble is 2(p-1)/v for F = I =
// W = 1; with g = p/2, (p/2)(1 + 1/v) are in flight.
BuildingBlock grouped_interleaved_block(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t chunks = parameters.chunks.value_or(usual_chunks);
  const std::int64_t group = parameters.group_size.value_or(parameters.devices);
  if (group < (p + 1) / 2 || group > p)
    throw Error(fmt::format("grouped-interleaved: group size {} with {} devices; {} to {} work",
                            group, p, (p + 1) / 2, p));
  BuildingBlock block{
      .name = "grouped-interleaved",
      .devices = parameters.devices,
      .routes = Routes::looped(parameters.devices, parameters.chunks.value_or(usual_chunks)),
      .microbatches = static_cast<std::uint32_t>(group),
      .interval = 3 * group * chunks,
      .passes = {},
      .binding = false,
      .reordered = false};
  // The next chunk follows after half a pipeline of microbatches, rounded up to whole groups. If
  // its inputs come later (I takes two cells per device), squeezing moves it.
  const std::int64_t groups_between = ((p + 1) / 2 + group - 1) / group;
  const std::int64_t wrap = chunks / std::gcd(chunks, groups_between);
  const auto start_of_chunk = [&](std::int64_t k) {
    return 3 * group * groups_between * k +
           3 * group * (k / wrap);  // The second term avoids collisions.
  };
  const std::int64_t turn =
      start_of_chunk(chunks - 1) + p;  // The last F of microbatch 0 has ended.
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

// R of the first chunks, if they are recomputed, runs right before their I.
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
