#include "sim/workload/block_placing.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::workload {
namespace {

using config::BlockLeg;
using schedules::BuildingBlock;
using schedules::Pass;
using schedules::PassKind;
using schedules::Routes;

Routes block_routes(const config::BuildingBlock& spec, std::uint32_t devices) {
  using Placement = config::BuildingBlock::Placement;
  const auto refuse = [&](std::string_view message) {
    throw config::Error(config::locate(spec.placement_origin, message));
  };
  const std::uint64_t stages = std::uint64_t{devices} * spec.chunks;
  if (devices == 0) refuse("at least 1 device is needed");
  if (devices > 16384 || stages > std::numeric_limits<std::uint16_t>::max())
    refuse(
        fmt::format("{} devices with {} stages each exceed the limits of 16384 devices and 65535 "
                    "stages",
                    devices, spec.chunks));
  if (spec.placement == Placement::v) return Routes::v_shape(devices);
  if (spec.placement == Placement::looped) return Routes::looped(devices, spec.chunks);
  if (stages != spec.device_of_stage.size())
    refuse(fmt::format("placement is for {} devices, but {} are requested",
                       spec.device_of_stage.size() / spec.chunks, devices));
  return Routes({spec.device_of_stage});
}

config::Error leg_error(const BlockLeg& leg, std::string_view message) {
  return config::Error(leg.origin, fmt::format("{} {}", name_of(leg), message));
}

// Assigns a cell of its device to each pass of a building block. A leg is the list of passes of one
// kind, chunk and microbatch; legs are placed one after the other.
class LegPlacer {
 public:
  LegPlacer(const config::BuildingBlock& spec, std::uint32_t devices)
      : block_{.name = spec.name,
               .devices = devices,
               .routes = block_routes(spec, devices),
               .microbatches = spec.microbatches,
               .interval = spec.interval,
               .lengths = spec.lengths,
               .recomputed = {},
               .passes = {}},
        stages_of_chunk_(spec.chunks),
        occupants_(std::size_t{devices} * spec.interval, none) {
    check_interval(spec);
    const std::uint32_t stages = block_.routes.stages();
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      stages_of_chunk_[block_.routes.chunk(stage, 0)].push_back(stage);
    for (auto& indices : placed_) indices.resize(std::size_t{stages} * spec.microbatches, none);
    for (const BlockLeg& leg : spec.legs) {
      if (leg.kind != PassKind::recompute) continue;
      block_.recomputed.resize(stages);
      for (const std::uint32_t stage : stages_of_chunk_[leg.chunk]) block_.recomputed[stage] = true;
    }
  }

  void place(const BlockLeg& leg) {
    if (!leg.cells.empty())
      place_listed(leg);
    else if (leg.kind == PassKind::weight_grad || leg.kind == PassKind::recompute)
      place_beside_gradient(leg);
    else
      place_along(leg);
  }

  BuildingBlock take() { return std::move(block_); }

 private:
  static constexpr std::int32_t none = -1;
  struct Candidate {
    Pass pass;
    std::int64_t cell;
  };

  std::int64_t length(PassKind kind) const {
    return block_.lengths[static_cast<std::size_t>(kind)];
  }

  // Throws config::Error if the passes of a device take more cells than the interval has. This is
  // the most common fault, so it is checked before legs are placed.
  void check_interval(const config::BuildingBlock& spec) const {
    std::vector<bool> has_weight_grad_leg(spec.chunks);
    for (const BlockLeg& leg : spec.legs)
      if (leg.kind == PassKind::weight_grad) has_weight_grad_leg[leg.chunk] = true;
    std::int64_t cells = 0;
    for (const BlockLeg& leg : spec.legs) {
      cells += length(leg.kind);
      if (leg.kind == PassKind::input_grad && !has_weight_grad_leg[leg.chunk])
        cells += length(PassKind::weight_grad);
    }
    if (cells > spec.interval)
      throw config::Error(
          spec.legs_origin,
          fmt::format(
              "cells: the passes of a block take {} cells on every device, but interval is {}",
              cells, spec.interval))
          .allow(fmt::format("at least {}", cells));
  }

  Pass pass_of(const BlockLeg& leg, std::uint32_t stage) const {
    return {leg.kind, static_cast<std::uint16_t>(stage), leg.microbatch};
  }
  std::uint32_t device_of(const Pass& pass) const {
    return block_.routes.device(pass.stage, pass.microbatch);
  }
  std::int32_t& occupant(const Pass& pass, std::int64_t cell) {
    const std::int64_t interval = block_.interval;
    const std::int64_t residue = (cell % interval + interval) % interval;
    return occupants_[static_cast<std::size_t>(device_of(pass) * interval + residue)];
  }
  // Returns a placed pass that occupies a cell of the candidate in some repetition of the block, or
  // null.
  const schedules::BlockPass* obstacle(const Candidate& candidate) {
    for (std::int64_t i = 0; i < length(candidate.pass.kind); ++i)
      if (const std::int32_t index = occupant(candidate.pass, candidate.cell + i); index != none)
        return &block_.passes[static_cast<std::size_t>(index)];
    return nullptr;
  }
  void put(const Candidate& candidate) {
    const auto index = static_cast<std::int32_t>(block_.passes.size());
    for (std::int64_t i = 0; i < length(candidate.pass.kind); ++i)
      occupant(candidate.pass, candidate.cell + i) = index;
    index_of(candidate.pass) = index;
    block_.passes.push_back({candidate.pass, candidate.cell});
  }
  std::int32_t& index_of(const Pass& pass) {
    return placed_[static_cast<std::size_t>(pass.kind)]
                  [std::size_t{pass.microbatch} * block_.routes.stages() + pass.stage];
  }
  // Returns the pass if it has been placed, or null. The backward pass of a stage is either split,
  // so that the stage has I, or whole (B); a search for I also finds B.
  const schedules::BlockPass* find(Pass pass) {
    if (pass.kind == PassKind::input_grad && index_of(pass) == none) pass.kind = PassKind::backward;
    const std::int32_t index = index_of(pass);
    return index == none ? nullptr : &block_.passes[static_cast<std::size_t>(index)];
  }

  void put_candidates(const BlockLeg& leg, const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      if (const schedules::BlockPass* blocker = obstacle(candidate))
        throw leg_error(
            leg, fmt::format("collides on device {}: it is at cell {}, {} is at cell {}, and the "
                             "block repeats every {} cells",
                             device_of(candidate.pass), candidate.cell, describe(blocker->pass),
                             blocker->cell, block_.interval));
      put(candidate);
    }
  }

  void place_listed(const BlockLeg& leg) {
    if (leg.cells.size() != block_.devices)
      throw leg_error(leg, fmt::format("has {} cells for {} devices; a map such as {{gap: 0, "
                                       "step: 1}} fits any number of devices",
                                       leg.cells.size(), block_.devices));
    std::vector<Candidate> candidates;
    for (const std::uint32_t stage : stages_of_chunk_[leg.chunk]) {
      const Pass pass = pass_of(leg, stage);
      candidates.push_back({pass, leg.cells[device_of(pass)]});
    }
    put_candidates(leg, candidates);
  }

  // Places the passes of a leg at equal distances, its step. If the leg has no start, it starts at
  // the earliest cell from which no pass collides.
  void place_along(const BlockLeg& leg) {
    std::vector<std::uint32_t> stages = stages_of_chunk_[leg.chunk];
    if (leg.kind != PassKind::forward) std::ranges::reverse(stages);
    const std::int64_t step = leg.step.value_or(length(leg.kind));
    const auto starting_at = [&](std::int64_t start) {
      std::vector<Candidate> candidates;
      for (const std::uint32_t stage : stages) {
        candidates.push_back({pass_of(leg, stage), start});
        start += step;
      }
      return candidates;
    };
    if (leg.at) return put_candidates(leg, starting_at(*leg.at));
    const std::int64_t first = earliest_cell(leg, stages.front());
    if (leg.gap) return put_candidates(leg, starting_at(first + *leg.gap));
    for (std::int64_t gap = 0; gap < block_.interval; ++gap) {
      const std::vector<Candidate> candidates = starting_at(first + gap);
      if (std::ranges::none_of(candidates, [&](const Candidate& candidate) {
            return obstacle(candidate) != nullptr;
          }))
        return put_candidates(leg, candidates);
    }
    throw leg_error(leg,
                    fmt::format("collides with earlier passes wherever it starts, with step {} and "
                                "interval {}",
                                step, block_.interval))
        .suggest("try another step or interval");
  }

  // Returns the earliest cell at which a leg can start: where the pass ends that its first pass
  // needs.
  std::int64_t earliest_cell(const BlockLeg& leg, std::uint32_t stage) {
    const bool last = stage + 1 == block_.routes.stages();
    Pass needed = pass_of(leg, stage);
    std::int64_t recompute_cells = 0;
    if (leg.kind == PassKind::forward) {
      if (stage == 0) return 0;
      --needed.stage;
    } else if (last) {
      needed.kind = PassKind::forward;
      if (!block_.recomputed.empty() && block_.recomputed[stage])
        recompute_cells = length(PassKind::recompute);
    } else {
      needed.kind = PassKind::input_grad;
      ++needed.stage;
    }
    const schedules::BlockPass* predecessor = find(needed);
    if (predecessor == nullptr)
      throw leg_error(leg, fmt::format("depends on {}, which is placed later", describe(needed)))
          .suggest("give its cell with `at`");
    return predecessor->cell + length(predecessor->pass.kind) + recompute_cells;
  }

  // Places each weight gradient (W) after its input gradient (I), and each recomputation (R) before
  // its I or B: at the distance that the leg gives, or else at the smallest one without a
  // collision.
  void place_beside_gradient(const BlockLeg& leg) {
    for (const std::uint32_t stage : stages_of_chunk_[leg.chunk]) {
      const Pass pass = pass_of(leg, stage);
      const schedules::BlockPass* gradient =
          find({PassKind::input_grad, pass.stage, leg.microbatch});
      if (gradient == nullptr) throw std::logic_error("W and R are placed after I and B");
      const bool is_after = leg.kind == PassKind::weight_grad;
      const std::int64_t nearest_cell = is_after ? gradient->cell + length(gradient->pass.kind)
                                                 : gradient->cell - length(pass.kind);
      const auto at_gap = [&](std::int64_t gap) {
        return Candidate{pass, is_after ? nearest_cell + gap : nearest_cell - gap};
      };
      std::int64_t gap = leg.gap.value_or(0);
      if (!leg.gap)
        while (gap < block_.interval && obstacle(at_gap(gap)) != nullptr) ++gap;
      put_candidates(leg, {at_gap(gap)});
    }
  }

  BuildingBlock block_;
  std::vector<std::vector<std::uint32_t>> stages_of_chunk_;
  std::vector<std::int32_t>
      occupants_;  // [device * interval + cell modulo interval]: index of a pass
  std::array<std::vector<std::int32_t>, schedules::pass_kinds> placed_;
};

// Sort key of legs: a leg comes after those relative to which it is placed. Legs with listed cells
// come first; then forward legs in ascending order of chunks, gradients in descending order, and at
// last R and W, which are placed relative to their gradient.
std::tuple<int, std::uint32_t, std::uint32_t> placing_order(const BlockLeg& leg,
                                                            std::uint32_t chunks) {
  if (!leg.cells.empty()) return {0, 0, 0};
  const std::uint32_t up = chunks - leg.chunk;
  if (leg.kind == PassKind::forward) return {1, leg.chunk, leg.microbatch};
  return {leg.kind == PassKind::recompute     ? 3
          : leg.kind == PassKind::weight_grad ? 4
                                              : 2,
          up, leg.microbatch};
}

}  // namespace

BuildingBlock place_legs(const config::BuildingBlock& spec, std::uint32_t devices) {
  LegPlacer placer(spec, devices);
  std::vector<BlockLeg> legs = spec.legs;
  std::ranges::stable_sort(legs, {},
                           [&](const BlockLeg& leg) { return placing_order(leg, spec.chunks); });
  for (const BlockLeg& leg : legs) placer.place(leg);
  return placer.take();
}

}  // namespace pipewright::workload
