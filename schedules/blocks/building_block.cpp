#include "schedules/blocks/building_block.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

std::int64_t length_of(const BuildingBlock& block, PassKind kind) {
  return block.lengths[static_cast<std::size_t>(kind)];
}

std::int64_t end_of(const BuildingBlock& block, const BlockPass& placed) {
  return placed.cell + length_of(block, placed.pass.kind);
}

std::uint32_t device_of(const BuildingBlock& block, const Pass& pass) {
  return block.routes.device(pass.stage, pass.microbatch);
}

// Describes a pass and its cell: "F of microbatch 0 on stage 1 at cell 3".
std::string describe(const BlockPass& placed) {
  return fmt::format("{} at cell {}", describe(placed.pass), placed.cell);
}

// The passes of one microbatch on one stage, indexed by their kind.
using Lane = std::array<std::optional<BlockPass>, pass_kinds>;

const std::optional<BlockPass>& at(const Lane& lane, PassKind kind) {
  return lane[static_cast<std::size_t>(kind)];
}

// Returns the pass that sends the gradient: B, or I if the backward is split.
const std::optional<BlockPass>& gradient(const Lane& lane) {
  return at(lane, PassKind::backward) ? at(lane, PassKind::backward)
                                      : at(lane, PassKind::input_grad);
}

// Returns the passes of each microbatch on each stage, as [microbatch * stages + stage]. Throws
// BlockError for a pass that is outside the block, fused, or there twice.
std::vector<Lane> lanes_of(const BuildingBlock& block) {
  const std::uint32_t stages = block.routes.stages();
  std::vector<Lane> lanes(std::size_t{stages} * block.microbatches);
  for (const BlockPass& placed : block.passes) {
    const Pass& pass = placed.pass;
    const auto fail = [&](std::string_view fault) {
      throw BlockError(fmt::format("{}: {} {}", block.name, describe(placed), fault), pass);
    };
    if (pass.stage >= stages || pass.microbatch >= block.microbatches)
      fail(fmt::format("is outside the block of {} microbatches on {} stages", block.microbatches,
                       stages));
    if (pass.fused) fail("is fused, which building blocks do not support");
    auto& place = lanes[std::size_t{pass.microbatch} * stages + pass.stage]
                       [static_cast<std::size_t>(pass.kind)];
    if (place) fail(fmt::format("stands at cell {} already", place->cell));
    place = placed;
  }
  return lanes;
}

void check_sizes(const BuildingBlock& block) {
  if (block.interval < 1)
    throw Error(fmt::format("{}: the interval is {} cells; at least 1 is needed", block.name,
                            block.interval));
  if (block.microbatches == 0 || block.microbatches % block.routes.count() != 0)
    throw Error(fmt::format(
        "{}: the block has {} microbatches, which take {} routes in turn; a multiple of the "
        "number of routes is needed",
        block.name, block.microbatches, block.routes.count()));
  for (const std::int64_t cells : block.lengths)
    if (cells < 1)
      throw Error(
          fmt::format("{}: a pass takes {} cells; at least 1 is needed", block.name, cells));
}

// Checks that a stage runs F and B once each, or F, I and W once each, and R once if it recomputes.
void check_kinds(const BuildingBlock& block, const Lane& lane, const Pass& stage_pass) {
  const bool recomputes = !block.recomputed.empty() && block.recomputed[stage_pass.stage];
  const bool whole = at(lane, PassKind::backward).has_value();
  const auto expect = [&](PassKind kind, bool is_expected) {
    if (at(lane, kind).has_value() == is_expected) return;
    const Pass pass{kind, stage_pass.stage, stage_pass.microbatch};
    throw BlockError(fmt::format("{}: {} is {}; a stage runs F, then {}B, or {}I and W", block.name,
                                 describe(pass), is_expected ? "missing" : "not allowed",
                                 recomputes ? "R and " : "", recomputes ? "R, " : ""),
                     pass);
  };
  expect(PassKind::forward, true);
  expect(PassKind::recompute, recomputes);
  expect(PassKind::input_grad, !whole);
  expect(PassKind::weight_grad, !whole);
}

void check_after(const BuildingBlock& block, const BlockPass& placed, const BlockPass& needed) {
  if (placed.cell >= end_of(block, needed)) return;
  throw BlockError(
      fmt::format("{}: {} (device {}) starts before {} (device {}) has ended; it can start "
                  "at cell {}",
                  block.name, describe(placed), device_of(block, placed.pass), describe(needed),
                  device_of(block, needed.pass), end_of(block, needed)),
      placed.pass);
}

}  // namespace

void place_weight_grads(BuildingBlock& block) {
  check_sizes(block);
  const std::vector<Lane> lanes = lanes_of(block);
  std::vector<std::vector<BlockPass>> waiting(block.devices);  // I passes without a W, by device.
  std::vector<std::vector<BlockPass>> busy(block.devices);
  for (const BlockPass& placed : block.passes)
    busy[device_of(block, placed.pass)].push_back(placed);
  for (const Lane& lane : lanes)
    if (at(lane, PassKind::input_grad) && !at(lane, PassKind::weight_grad)) {
      const BlockPass& input_grad = *at(lane, PassKind::input_grad);
      waiting[device_of(block, input_grad.pass)].push_back(input_grad);
    }

  const std::int64_t interval = block.interval;
  const std::int64_t length = length_of(block, PassKind::weight_grad);
  std::vector<bool> taken;  // By cell modulo the interval, on one device.
  const auto residue = [&](std::int64_t cell) {
    return static_cast<std::size_t>((cell % interval + interval) % interval);
  };
  const auto take = [&](std::int64_t cell, std::int64_t cells) {
    for (std::int64_t i = 0; i < std::min(cells, interval); ++i) taken[residue(cell + i)] = true;
  };
  const auto is_free = [&](std::int64_t cell) {
    for (std::int64_t i = 0; i < length; ++i)
      if (taken[residue(cell + i)]) return false;
    return length <= interval;
  };
  for (std::uint32_t device = 0; device < block.devices; ++device) {
    taken.assign(static_cast<std::size_t>(interval), false);
    for (const BlockPass& placed : busy[device])
      take(placed.cell, length_of(block, placed.pass.kind));
    std::ranges::stable_sort(waiting[device], {}, &BlockPass::cell);
    for (const BlockPass& input_grad : waiting[device]) {
      std::int64_t cell = end_of(block, input_grad);
      const std::int64_t beyond = cell + interval;
      while (cell < beyond && !is_free(cell)) ++cell;
      if (cell == beyond)
        throw BlockError(
            fmt::format("{}: device {} has no {} free cells for the W of {}: its other passes "
                        "take {} of the interval's {}",
                        block.name, device, length, describe(input_grad),
                        std::ranges::count(taken, true), interval),
            input_grad.pass);
      take(cell, length);
      Pass weight_grad = input_grad.pass;
      weight_grad.kind = PassKind::weight_grad;
      block.passes.push_back({weight_grad, cell});
    }
  }
}

void check_block(const BuildingBlock& block) {
  check_sizes(block);
  const std::vector<Lane> lanes = lanes_of(block);
  const std::uint32_t stages = block.routes.stages();
  for (std::size_t i = 0; i < lanes.size(); ++i)
    check_kinds(block, lanes[i],
                {.stage = static_cast<std::uint16_t>(i % stages),
                 .microbatch = static_cast<std::uint32_t>(i / stages)});
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = lanes[i];
    const BlockPass& forward = *at(lane, PassKind::forward);
    if (i % stages > 0) check_after(block, forward, *at(lanes[i - 1], PassKind::forward));
    const bool is_last = i % stages + 1 == stages;
    check_after(block, *gradient(lane), is_last ? forward : *gradient(lanes[i + 1]));
    if (const auto& recompute = at(lane, PassKind::recompute)) {
      check_after(block, *recompute, forward);
      check_after(block, *gradient(lane), *recompute);
    }
    if (const auto& weight_grad = at(lane, PassKind::weight_grad))
      check_after(block, *weight_grad, *at(lane, PassKind::input_grad));
  }
}

std::vector<std::int64_t> lifespans(const BuildingBlock& block) {
  std::vector<std::int64_t> cells;
  for (const Lane& lane : lanes_of(block)) {
    const auto& recompute = at(lane, PassKind::recompute);
    const BlockPass& first = recompute ? *recompute : at(lane, PassKind::forward).value();
    const auto& whole = at(lane, PassKind::backward);
    const BlockPass& last = whole ? *whole : at(lane, PassKind::weight_grad).value();
    cells.push_back(end_of(block, last) - first.cell);
  }
  return cells;
}

std::vector<double> lifespan_bound(const BuildingBlock& block) {
  const std::uint32_t stages = block.routes.stages();
  std::vector<std::int64_t> held(block.devices, 0);
  std::size_t at = 0;
  for (const std::int64_t cells : lifespans(block)) {
    const auto stage = static_cast<std::uint32_t>(at % stages);
    const auto microbatch = static_cast<std::uint32_t>(at++ / stages);
    held[block.routes.device(stage, microbatch)] += (cells + block.interval - 1) / block.interval;
  }
  const double share = static_cast<double>(block.devices) / stages;
  std::vector<double> bound;
  for (const std::int64_t activations : held)
    bound.push_back(static_cast<double>(activations) * share);
  return bound;
}

}  // namespace pipewright::schedules
