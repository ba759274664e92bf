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

Routes routes_of(const config::BuildingBlock& given, std::uint32_t devices) {
  using Placement = config::BuildingBlock::Placement;
  const auto refuse = [&](std::string_view what) {
    throw config::Error(config::locate(given.placement_origin, what));
  };
  const std::uint64_t stages = std::uint64_t{devices} * given.chunks;
  if (devices == 0) refuse("at least 1 device is needed");
  if (devices > 16384 || stages > std::numeric_limits<std::uint16_t>::max())
    refuse(
        fmt::format("{} devices with {} stages each are more than the 16384 devices and 65535 "
                    "stages that are supported",
                    devices, given.chunks));
  if (given.placement == Placement::v) return Routes::v_shape(devices);
  if (given.placement == Placement::looped) return Routes::looped(devices, given.chunks);
  if (stages != given.device_of_stage.size())
    refuse(fmt::format("placement is for {} devices, and {} are asked for",
                       given.device_of_stage.size() / given.chunks, devices));
  return Routes({given.device_of_stage});
}

[[noreturn]] void fail(const BlockLeg& leg, std::string_view what) {
  throw config::Error(config::locate(leg.origin, fmt::format("{} {}", name_of(leg), what)));
}

// Puts the passes of a block on its devices, leg by leg.
class Placing {
 public:
  Placing(const config::BuildingBlock& given, std::uint32_t devices)
      : block_{.name = given.name,
               .devices = devices,
               .routes = routes_of(given, devices),
               .microbatches = given.microbatches,
               .interval = given.interval,
               .lengths = given.lengths,
               .recomputed = {},
               .passes = {}},
        stages_of_chunk_(given.chunks),
        taken_(std::size_t{devices} * given.interval, none) {
    check_room(given);
    const std::uint32_t stages = block_.routes.stages();
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      stages_of_chunk_[block_.routes.chunk(stage, 0)].push_back(stage);
    for (auto& of_kind : placed_) of_kind.resize(std::size_t{stages} * given.microbatches, none);
    for (const BlockLeg& leg : given.legs) {
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
  struct Wanted {
    Pass pass;
    std::int64_t cell;
  };

  std::int64_t length(PassKind kind) const {
    return block_.lengths[static_cast<std::size_t>(kind)];
  }

  // An interval that cannot hold a device's passes is the commonest fault; it is told as such.
  void check_room(const config::BuildingBlock& given) const {
    std::vector<bool> has_own_w(given.chunks);
    for (const BlockLeg& leg : given.legs)
      if (leg.kind == PassKind::weight_grad) has_own_w[leg.chunk] = true;
    std::int64_t cells = 0;
    for (const BlockLeg& leg : given.legs) {
      cells += length(leg.kind);
      if (leg.kind == PassKind::input_grad && !has_own_w[leg.chunk])
        cells += length(PassKind::weight_grad);
    }
    if (cells > given.interval)
      throw config::Error(config::locate(
          given.legs_origin, fmt::format("cells: the passes of a block take {} cells of every "
                                         "device, and interval is {}; at least {} is needed",
                                         cells, given.interval, cells)));
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
    return taken_[static_cast<std::size_t>(device_of(pass) * interval + residue)];
  }
  // The pass, if any, that the wanted one would collide with in some repetition.
  const schedules::BlockPass* obstacle(const Wanted& wanted) {
    for (std::int64_t i = 0; i < length(wanted.pass.kind); ++i)
      if (const std::int32_t found = occupant(wanted.pass, wanted.cell + i); found != none)
        return &block_.passes[static_cast<std::size_t>(found)];
    return nullptr;
  }
  void put(const Wanted& wanted) {
    const auto index = static_cast<std::int32_t>(block_.passes.size());
    for (std::int64_t i = 0; i < length(wanted.pass.kind); ++i)
      occupant(wanted.pass, wanted.cell + i) = index;
    index_of(wanted.pass) = index;
    block_.passes.push_back({wanted.pass, wanted.cell});
  }
  std::int32_t& index_of(const Pass& pass) {
    return placed_[static_cast<std::size_t>(pass.kind)]
                  [std::size_t{pass.microbatch} * block_.routes.stages() + pass.stage];
  }
  // The pass if it stands already. I and B of a stage exclude each other.
  const schedules::BlockPass* find(Pass pass) {
    if (pass.kind == PassKind::input_grad && index_of(pass) == none) pass.kind = PassKind::backward;
    const std::int32_t index = index_of(pass);
    return index == none ? nullptr : &block_.passes[static_cast<std::size_t>(index)];
  }

  void put_all(const BlockLeg& leg, const std::vector<Wanted>& all) {
    for (const Wanted& wanted : all) {
      if (const schedules::BlockPass* other = obstacle(wanted))
        fail(leg, fmt::format("collides: on device {} it stands at cell {} and {} at cell {}, and "
                              "blocks come every {} cells",
                              device_of(wanted.pass), wanted.cell, describe(other->pass),
                              other->cell, block_.interval));
      put(wanted);
    }
  }

  void place_listed(const BlockLeg& leg) {
    if (leg.cells.size() != block_.devices)
      fail(leg, fmt::format("has {} cells, and {} devices are asked for; a map such as {{gap: 0, "
                            "step: 1}} fits any number",
                            leg.cells.size(), block_.devices));
    std::vector<Wanted> all;
    for (const std::uint32_t stage : stages_of_chunk_[leg.chunk]) {
      const Pass pass = pass_of(leg, stage);
      all.push_back({pass, leg.cells[device_of(pass)]});
    }
    put_all(leg, all);
  }

  // From its first pass on by steps; where it starts, if not said, as early as nothing collides.
  void place_along(const BlockLeg& leg) {
    std::vector<std::uint32_t> stages = stages_of_chunk_[leg.chunk];
    if (leg.kind != PassKind::forward) std::ranges::reverse(stages);
    const std::int64_t step = leg.step.value_or(length(leg.kind));
    const auto from = [&](std::int64_t start) {
      std::vector<Wanted> all;
      for (const std::uint32_t stage : stages) {
        all.push_back({pass_of(leg, stage), start});
        start += step;
      }
      return all;
    };
    if (leg.at) return put_all(leg, from(*leg.at));
    const std::int64_t first = first_chance(leg, stages.front());
    if (leg.gap) return put_all(leg, from(first + *leg.gap));
    for (std::int64_t gap = 0; gap < block_.interval; ++gap) {
      const std::vector<Wanted> all = from(first + gap);
      if (std::ranges::none_of(all, [&](const Wanted& w) { return obstacle(w) != nullptr; }))
        return put_all(leg, all);
    }
    fail(leg, fmt::format("collides with the passes before it wherever it starts, with a step of "
                          "{} and blocks every {} cells; another step or interval may fit",
                          step, block_.interval));
  }

  // The end of what the first pass of a leg needs.
  std::int64_t first_chance(const BlockLeg& leg, std::uint32_t stage) {
    const bool last = stage + 1 == block_.routes.stages();
    Pass needed = pass_of(leg, stage);
    std::int64_t more = 0;
    if (leg.kind == PassKind::forward) {
      if (stage == 0) return 0;
      --needed.stage;
    } else if (last) {
      needed.kind = PassKind::forward;
      if (!block_.recomputed.empty() && block_.recomputed[stage])
        more = length(PassKind::recompute);
    } else {
      needed.kind = PassKind::input_grad;
      ++needed.stage;
    }
    const schedules::BlockPass* found = find(needed);
    if (found == nullptr)
      fail(leg, fmt::format("would follow {}, which comes later in the block; give it by at",
                            describe(needed)));
    return found->cell + length(found->pass.kind) + more;
  }

  // W behind its I, R before its I or B: so many cells, or the nearest that are free.
  void place_beside_gradient(const BlockLeg& leg) {
    for (const std::uint32_t stage : stages_of_chunk_[leg.chunk]) {
      const Pass pass = pass_of(leg, stage);
      const schedules::BlockPass* gradient =
          find({PassKind::input_grad, pass.stage, leg.microbatch});
      if (gradient == nullptr) throw std::logic_error("W and R are placed behind I and B");
      const bool behind = leg.kind == PassKind::weight_grad;
      const std::int64_t nearest = behind ? gradient->cell + length(gradient->pass.kind)
                                          : gradient->cell - length(pass.kind);
      const auto at_gap = [&](std::int64_t gap) {
        return Wanted{pass, behind ? nearest + gap : nearest - gap};
      };
      std::int64_t gap = leg.gap.value_or(0);
      if (!leg.gap)
        while (gap < block_.interval && obstacle(at_gap(gap)) != nullptr) ++gap;
      put_all(leg, {at_gap(gap)});
    }
  }

  BuildingBlock block_;
  std::vector<std::vector<std::uint32_t>> stages_of_chunk_;
  std::vector<std::int32_t> taken_;  // [device * interval + cell modulo interval]: index of a pass
  std::array<std::vector<std::int32_t>, schedules::pass_kinds> placed_;
};

// Each after what it is measured from: listed cells are measured from nothing; forwards go down
// the chunks and gradients up; W and R stand beside their gradient.
std::tuple<int, std::uint32_t, std::uint32_t> turn(const BlockLeg& leg, std::uint32_t chunks) {
  if (!leg.cells.empty()) return {0, 0, 0};
  const std::uint32_t up = chunks - leg.chunk;
  if (leg.kind == PassKind::forward) return {1, leg.chunk, leg.microbatch};
  return {leg.kind == PassKind::recompute     ? 3
          : leg.kind == PassKind::weight_grad ? 4
                                              : 2,
          up, leg.microbatch};
}

}  // namespace

BuildingBlock place_legs(const config::BuildingBlock& given, std::uint32_t devices) {
  Placing placing(given, devices);
  std::vector<BlockLeg> legs = given.legs;
  std::ranges::stable_sort(legs, {}, [&](const BlockLeg& leg) { return turn(leg, given.chunks); });
  for (const BlockLeg& leg : legs) placing.place(leg);
  return placing.take();
}

}  // namespace pipewright::workload
