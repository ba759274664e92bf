#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {

// A chunk of a device: its stage, and the first microbatch of its direction.
struct Chunk {
  std::uint16_t stage = 0;
  std::uint32_t direction = 0;
};

// The two chunks that a device has of one direction. A microbatch runs on `down` before the turn of
// its V, and on `up` after it.
struct Direction {
  Chunk down;
  Chunk up;
};

Direction direction_of(std::uint32_t direction, std::uint32_t device, std::uint32_t devices) {
  const std::uint32_t depth = direction == 0 ? device : devices - 1 - device;
  return {.down = {static_cast<std::uint16_t>(depth), direction},
          .up = {static_cast<std::uint16_t>(2 * devices - 1 - depth), direction}};
}

// Order of the passes of one kind on one device. A unit has as many microbatches as the pipeline
// has devices, half of them in each direction; all units are alike.
class UnitOrder {
 public:
  // Each direction runs `half` microbatches on its first chunk and then on its second. The far
  // direction is `lead` passes behind the near one on each chunk.
  UnitOrder(PassKind kind, std::uint32_t half, std::uint32_t lead, const std::array<Chunk, 2>& near,
            const std::array<Chunk, 2>& far)
      : kind_(kind), devices_(2 * half) {
    const std::uint32_t rest = half - lead;
    const auto add = [&](const Chunk& chunk, std::uint32_t index) {
      passes_.push_back({kind_, chunk.stage, chunk.direction + 2 * index});
    };
    for (std::uint32_t i = 0; i < lead; ++i) add(near[0], i);
    for (std::uint32_t i = 0; i < rest; ++i) {
      add(far[0], i);
      add(near[0], lead + i);
    }
    for (std::uint32_t i = 0; i < lead; ++i) {
      add(far[0], rest + i);
      add(far[1], i);
    }
    for (std::uint32_t i = 0; i < rest; ++i) {
      add(near[1], i);
      add(far[1], lead + i);
    }
    for (std::uint32_t i = 0; i < lead; ++i) add(near[1], rest + i);
  }

  // Returns the pass at a position, counted over all units.
  Pass operator[](std::uint32_t position) const {
    Pass pass = passes_[position % passes_.size()];
    pass.microbatch += position / static_cast<std::uint32_t>(passes_.size()) * devices_;
    return pass;
  }

 private:
  PassKind kind_;
  std::uint32_t devices_;
  std::vector<Pass> passes_;
};

// Returns the passes of device r of p (wuhouming/BitPipe, bitpipe_schedule.py): warm-up forwards;
// then for each unit but the last, forwards and backwards in turn, backwards, forwards and
// backwards in turn, and forwards; then forwards and backwards in turn, and the remaining
// backwards.
Program bitpipe_device(std::uint32_t r, std::uint32_t p, std::uint32_t microbatches) {
  const std::uint32_t depth = std::min(r, p - 1 - r);
  const std::uint32_t half = p / 2;
  const std::uint32_t lead = half - depth;
  const std::uint32_t unit = 2 * p;  // Passes of a kind.
  const std::uint32_t warmup = unit - lead;
  const Direction near = direction_of(r < half ? 0 : 1, r, p);
  const Direction far = direction_of(r < half ? 1 : 0, r, p);
  const UnitOrder forwards(PassKind::forward, half, lead, {near.down, near.up}, {far.down, far.up});
  const UnitOrder backwards(PassKind::backward, half, lead, {near.up, near.down},
                            {far.up, far.down});

  std::vector<Pass> passes;
  std::uint32_t forward = 0;
  std::uint32_t backward = 0;
  const auto run = [&](std::uint32_t count, bool runs_forward, bool runs_backward) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (runs_forward) passes.push_back(forwards[forward++]);
      if (runs_backward) passes.push_back(backwards[backward++]);
    }
  };
  Program program;
  const auto end_loop = [&](std::uint32_t rounds) {
    program.repeat(rounds, static_cast<std::int32_t>(p), std::exchange(passes, {}));
  };
  run(warmup, true, false);
  end_loop(1);
  const std::uint32_t loops = microbatches / p - 1;
  if (loops > 0) {
    run(lead, true, true);
    run(warmup - lead + 1, false, true);
    run(lead - 1, true, true);
    run(warmup - lead + 1, true, false);
    end_loop(loops);
    forward += (loops - 1) * unit;
    backward += (loops - 1) * unit;
  }
  run(lead, true, true);
  run(unit - lead, false, true);
  end_loop(1);
  return program;
}

}  // namespace

Routes v_both_ways(std::uint32_t devices) {
  std::array<std::vector<std::uint32_t>, 2> device_of;
  for (std::uint32_t direction = 0; direction < 2; ++direction) {
    device_of[direction].resize(std::size_t{2} * devices);
    for (std::uint32_t device = 0; device < devices; ++device) {
      const Direction chunks = direction_of(direction, device, devices);
      device_of[direction][chunks.down.stage] = device_of[direction][chunks.up.stage] = device;
    }
  }
  return Routes({std::move(device_of[0]), std::move(device_of[1])});
}

// BitPipe (Wu et al. 2024, arXiv 2410.19367): two pipelines in opposite directions, each over two
// chunks per device in a V, with a copy of the weights for each. For F = B the bubble is p-2 passes
// of a chunk; with one unit, m = p, and B = 2F, it is 2(p-2) F. (3p/2 + 1 + min(r, p-1-r))/2
// microbatches are in flight on device r.
Schedule bitpipe(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  if (devices % 2 != 0)
    throw Error(fmt::format("bitpipe: devices must be even, for two directions, not {}; {} work",
                            devices, devices + 1));
  if (parameters.microbatches % devices != 0)
    throw Error(fmt::format(
        "bitpipe: microbatches must be a multiple of the {} devices, not {}; {} work", devices,
        parameters.microbatches, std::max(1U, parameters.microbatches / devices) * devices));
  Schedule schedule = without_programs("bitpipe", parameters, v_both_ways(devices));
  schedule.chunks = 4;  // Two for each direction.
  return with_programs(std::move(schedule), [&](std::uint32_t device) {
    return bitpipe_device(device, devices, parameters.microbatches);
  });
}

}  // namespace pipewright::schedules
