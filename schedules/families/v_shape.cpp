#include <utility>

#include "schedules/families/blocks.hpp"

// V-shaped zero-bubble families (Qi et al. 2024, arXiv 2405.15362, section 3.2): device r of p
// holds stages r and 2p-1-r. The block gives the cells of F and I; W take what is free.
namespace pipewright::schedules {
namespace {

// Cells of the four passes on device r, each linear in r: {on device 0, per device}.
struct Line {
  std::int64_t start, slope;
  std::int64_t at(std::uint32_t device) const { return start + slope * device; }
};
struct Lines {
  Line forward_down, forward_up, input_grad_down, input_grad_up;
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

// All offsets 1: each chunk lives 2 p / 3 intervals at most. In flight floor((p+4)/3).
BuildingBlock v_min(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t gap = p % 3 == 0 ? 2 : 0;  // or I of stage 2p-1 would collide
  return v_block("v-min", parameters.devices,
                 {{0, 1}, {2 * p - 1, -1}, {2 * p + gap, 1}, {4 * p + gap - 1, -1}},
                 2 * ((parameters.devices + 4) / 3));
}

// Offsets 2 on the way down and 1 on the way up. In flight floor((p+2)/2).
BuildingBlock v_half(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t gap = p % 2 == 0 ? 3 : 0;
  return v_block("v-half", parameters.devices,
                 {{0, 2}, {3 * p - 2, -1}, {3 * p - 1 + gap, 2}, {6 * p - 2 + gap, -1}},
                 2 * ((parameters.devices + 2) / 2));
}

// Offsets 4, 2, 4, 2, which add up to two intervals: as much in flight as 1F1B, p.
BuildingBlock v_zb(const Parameters& parameters) {
  const std::int64_t p = parameters.devices;
  const std::int64_t turn = 4 * (p - 1) + 1;    // F of stage p
  const std::int64_t top = turn + 2 * (p - 1);  // F of the last stage
  return v_block("v-zb", parameters.devices,
                 {{0, 4}, {top, -2}, {top + 1, 4}, {top + 2 + 6 * (p - 1), -2}},
                 2 * parameters.devices);
}

// Not split, two adjacent cells a B (sail-sg/zero-bubble-pipeline-parallelism, v1f1b.py): the
// backwards run on a clock that skips an interval's half after every third of them, where the
// forwards are. In flight ceil((2p+1)/3).
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

}  // namespace pipewright::schedules
