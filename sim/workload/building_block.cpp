#include "sim/workload/building_block.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "schedules/blocks/build.hpp"
#include "schedules/blocks/grid.hpp"
#include "schedules/blocks/reorder.hpp"
#include "sim/config/text/value.hpp"
#include "sim/workload/block_placing.hpp"

namespace pipewright::workload {
namespace {

using config::BlockLeg;
using schedules::BuildingBlock;
using schedules::Pass;

config::Origin origin_of(const config::BuildingBlock& given, const BuildingBlock& block,
                         const Pass& pass) {
  for (const BlockLeg& leg : given.legs)
    if (leg.kind == pass.kind && leg.microbatch == pass.microbatch &&
        leg.chunk == block.routes.chunk(pass.stage, pass.microbatch))
      return leg.origin;
  return given.legs_origin;
}

// How many blocks are under way at once in the steady state.
std::uint32_t blocks_under_way(const config::BuildingBlock& given, const BuildingBlock& block) {
  const auto [first, last] = std::ranges::minmax(block.passes, {}, &schedules::BlockPass::cell);
  const std::int64_t blocks = (last.cell - first.cell) / block.interval + 2;
  const double passes = static_cast<double>(blocks) * static_cast<double>(block.passes.size());
  constexpr double most_passes = 1e8;
  if (passes > most_passes)
    throw config::Error(config::locate(
        given.legs_origin,
        fmt::format("cells: a block spans {} cells, so that {} of them are under way at once, with "
                    "{:.0f} passes; {:.0f} are the most that is supported",
                    last.cell - first.cell, blocks, passes, most_passes)));
  return static_cast<std::uint32_t>(blocks);
}

void set_peak(const config::BuildingBlock& given, BuildingBlock& block, std::uint32_t blocks) {
  const std::vector<std::int64_t> held =
      schedules::peaks_of(schedules::repeat(block, blocks * block.microbatches));
  const double share = static_cast<double>(block.devices) / block.routes.stages();
  const double least = static_cast<double>(std::ranges::max(held)) * share;
  constexpr double rounding = 1e-9;
  if (given.memory->value + rounding < least)
    throw config::Error(config::locate(
        given.memory->origin, fmt::format("memory is {} microbatches, and the block itself holds "
                                          "{}; reordering does not lower that",
                                          given.memory->value, least)));
  constexpr double most = 4294967295.0;
  block.peak = static_cast<std::uint32_t>(
      std::min(std::floor(given.memory->value / share + rounding), most));
}

}  // namespace

BuildingBlock to_block(const config::BuildingBlock& given, std::uint32_t devices) {
  BuildingBlock block = place_legs(given, devices);
  block.reordered = given.reorder;
  try {
    schedules::place_weight_grads(block);
    schedules::check_block(block);
  } catch (const schedules::BlockError& error) {
    // The place names the file already.
    std::string_view text = error.what();
    if (const std::string name = block.name + ": "; text.starts_with(name))
      text.remove_prefix(name.size());
    throw config::Error(config::locate(origin_of(given, block, error.pass), text));
  }
  const std::uint32_t blocks = blocks_under_way(given, block);
  if (given.memory) set_peak(given, block, blocks);
  return block;
}

schedules::Schedule make_schedule(const config::BuildingBlock& given, std::uint32_t devices,
                                  std::uint32_t microbatches, std::uint32_t iterations) {
  const double passes = 3.0 * devices * given.chunks * microbatches * iterations;
  constexpr double most_passes = 2147483648.0;
  if (passes > most_passes)
    throw config::Error(fmt::format("{}: {:.0f} passes are more than the {:.0f} that are supported",
                                    given.name, passes, most_passes));
  return schedules::build(to_block(given, devices), microbatches, iterations);
}

}  // namespace pipewright::workload
