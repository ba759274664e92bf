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

config::Origin pass_origin(const config::BuildingBlock& spec, const BuildingBlock& block,
                           const Pass& pass) {
  for (const BlockLeg& leg : spec.legs)
    if (leg.kind == pass.kind && leg.microbatch == pass.microbatch &&
        leg.chunk == block.routes.chunk(pass.stage, pass.microbatch))
      return leg.origin;
  return spec.legs_origin;
}

// Returns how many repetitions of the block overlap in the steady state.
std::uint32_t overlapping_blocks(const config::BuildingBlock& spec, const BuildingBlock& block) {
  const auto [first, last] = std::ranges::minmax(block.passes, {}, &schedules::BlockPass::cell);
  const std::int64_t blocks = (last.cell - first.cell) / block.interval + 2;
  const double passes = static_cast<double>(blocks) * static_cast<double>(block.passes.size());
  constexpr double max_passes = 1e8;
  if (passes > max_passes)
    throw config::Error(
        spec.legs_origin,
        fmt::format("cells: a block spans {} cells, so {} blocks overlap and have {:.0f} passes",
                    last.cell - first.cell, blocks, passes))
        .allow(fmt::format("at most {:.0f}", max_passes));
  return static_cast<std::uint32_t>(blocks);
}

void set_block_peak(const config::BuildingBlock& spec, BuildingBlock& block, std::uint32_t blocks) {
  const std::vector<std::int64_t> held =
      schedules::peaks_of(schedules::repeat(block, blocks * block.microbatches));
  const double share = static_cast<double>(block.devices) / block.routes.stages();
  const double block_peak = static_cast<double>(std::ranges::max(held)) * share;
  constexpr double rounding = 1e-9;
  if (spec.memory->value + rounding < block_peak)
    throw config::Error(config::locate(
        spec.memory->origin, fmt::format("memory is {} microbatches, but the block itself holds "
                                         "{}; reordering cannot reduce that",
                                         spec.memory->value, block_peak)));
  constexpr double max_peak = 4294967295.0;
  block.peak = static_cast<std::uint32_t>(
      std::min(std::floor(spec.memory->value / share + rounding), max_peak));
}

}  // namespace

BuildingBlock to_block(const config::BuildingBlock& spec, std::uint32_t devices) {
  BuildingBlock block = place_legs(spec, devices);
  block.reordered = spec.reorder;
  try {
    schedules::place_weight_grads(block);
    schedules::check_block(block);
  } catch (const schedules::BlockError& error) {
    // The error message gets the location of the pass, which includes the name of the file, so the
    // name at the start of the text is dropped.
    std::string_view text = error.what();
    if (const std::string name = block.name + ": "; text.starts_with(name))
      text.remove_prefix(name.size());
    throw config::Error(config::locate(pass_origin(spec, block, error.pass), text));
  }
  const std::uint32_t blocks = overlapping_blocks(spec, block);
  if (spec.memory) set_block_peak(spec, block, blocks);
  return block;
}

schedules::Schedule make_schedule(const config::BuildingBlock& spec, std::uint32_t devices,
                                  std::uint32_t microbatches, std::uint32_t iterations) {
  const double passes = 3.0 * devices * spec.chunks * microbatches * iterations;
  constexpr double max_passes = 2147483648.0;
  if (passes > max_passes)
    throw config::Error(fmt::format("{}: the schedule has {:.0f} passes", spec.name, passes))
        .allow(fmt::format("at most {:.0f}", max_passes));
  return schedules::build(to_block(spec, devices), microbatches, iterations);
}

}  // namespace pipewright::workload
