#include "schedules/search/block_seeds.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

constexpr int max_legs = 4;

// Shape of a building block. A leg is the way of F or I through the devices in one direction. An
// offset is the number of cells from one device to the next on a leg; it may change at one device,
// the knee. A gap is the number of idle cells between two legs.
struct Offsets {
  std::array<std::int64_t, max_legs> early{};
  std::array<std::int64_t, max_legs> late{};
  std::array<std::int64_t, max_legs> gap{};
  std::int64_t knee = 0;  // Device from which the late offsets apply.
  std::int64_t interval = 0;
};

struct Ranked {
  Offsets offsets;
  std::int64_t peak = 0;
  std::int64_t length = 0;
};

// Cells that the F and I passes of each leg take on every device.
class Sketch {
 public:
  Sketch(const Pipeline& pipeline, int legs)
      : memory_(pipeline.memory), devices_(pipeline.devices), legs_(legs) {
    for (auto& leg : cells_) leg.resize(devices_);
  }

  // Places the legs one after the other: even legs go down the devices, odd legs go up.
  void place(const Offsets& offsets) {
    std::int64_t cell = 0;
    for (int leg = 0; leg < legs_; ++leg) {
      for (std::uint32_t step = 0; step < devices_; ++step) {
        const std::uint32_t device = leg % 2 == 0 ? step : devices_ - 1 - step;
        if (step > 0) {
          const auto lower = static_cast<std::int64_t>(leg % 2 == 0 ? device - 1 : device);
          cell += lower < offsets.knee ? offsets.early[leg] : offsets.late[leg];
        }
        cells_[leg][device] = cell;
      }
      length_ = cell;
      cell += 1 + offsets.gap[leg];
    }
  }
  std::int64_t length() const { return length_; }
  std::int64_t cell(int leg, std::uint32_t device) const { return cells_[leg][device]; }

  // Returns the largest memory of a device if W passes take the first free cells, in the unit of
  // the pipeline's memory; negative if passes collide or a device exceeds its limit.
  std::int64_t peak(std::int64_t interval) const {
    std::int64_t peak = 0;
    for (std::uint32_t device = 0; device < devices_; ++device) {
      const std::int64_t held = held_on(device, interval);
      if (held < 0 || held > memory_.limit[device]) return -1;
      peak = std::max(peak, held);
    }
    return peak;
  }

 private:
  std::int64_t held_on(std::uint32_t device, std::int64_t interval) const;

  const ActivationMemory& memory_;
  std::uint32_t devices_;
  int legs_;
  std::array<std::vector<std::int64_t>, max_legs> cells_;
  std::int64_t length_ = 0;
};

std::int64_t Sketch::held_on(std::uint32_t device, std::int64_t interval) const {
  std::uint64_t taken = 0;  // Bit set of cells modulo the interval, which has at most 64 cells.
  for (int leg = 0; leg < legs_; ++leg) {
    const std::uint64_t bit = 1ULL << (cells_[leg][device] % interval);
    if ((taken & bit) != 0) return -1;
    taken |= bit;
  }
  // I of a chunk runs on the leg opposite to its F. W passes run in the order of their I.
  std::array<std::int64_t, max_legs> gradient_end{};
  std::array<std::int64_t, max_legs> weight_grad_end{};
  for (int leg = legs_ / 2; leg < legs_; ++leg) {
    std::int64_t cell = cells_[leg][device] + 1;
    gradient_end[legs_ - 1 - leg] = cell;
    while ((taken >> (cell % interval) & 1U) != 0) ++cell;
    taken |= 1ULL << (cell % interval);
    weight_grad_end[legs_ - 1 - leg] = cell + 1;
  }
  std::int64_t peak = 0;
  for (int leg = 0; leg < legs_ / 2; ++leg) {
    const std::int64_t now = cells_[leg][device];  // The peak occurs at an F.
    // Returns by how many repetitions the block has passed this cell by now.
    const auto repetitions = [&](std::int64_t cell) {
      const std::int64_t distance = now - cell;
      return distance >= 0 ? distance / interval : -((-distance + interval - 1) / interval);
    };
    std::int64_t held = 0;
    for (int chunk = 0; chunk < legs_ / 2; ++chunk) {
      const std::uint32_t stage = chunk == 0 ? device : 2 * devices_ - 1 - device;
      const std::int64_t early = memory_.released_by_input_grad[stage];
      held += memory_.held[stage] * repetitions(cells_[chunk][device]) -
              early * repetitions(gradient_end[chunk]) -
              (memory_.held[stage] - early) * repetitions(weight_grad_end[chunk]);
    }
    peak = std::max(peak, held);
  }
  return peak;
}

void consider(Sketch& sketch, const Offsets& offsets, std::vector<Ranked>& ranked) {
  sketch.place(offsets);
  const std::int64_t peak = sketch.peak(offsets.interval);
  if (peak >= 0) ranked.push_back({offsets, peak, sketch.length()});
}

// Tries all combinations of gaps between legs; each is shorter than the interval and than 6 cells.
void with_gaps(Sketch& sketch, Offsets offsets, int legs, std::vector<Ranked>& ranked) {
  const auto choose = [&](const auto& self, int leg) -> void {
    if (leg + 1 == legs) {
      consider(sketch, offsets, ranked);
      return;
    }
    for (std::int64_t gap = 0; gap < std::min<std::int64_t>(offsets.interval, 6); ++gap) {
      offsets.gap[leg] = gap;
      self(self, leg + 1);
    }
  };
  choose(choose, 0);
}

void uniform(Sketch& sketch, int legs, std::int64_t interval, std::int64_t steepest,
             std::vector<Ranked>& ranked) {
  Offsets offsets{.interval = interval};
  const auto choose = [&](const auto& self, int leg) -> void {
    if (leg == legs) {
      offsets.late = offsets.early;
      with_gaps(sketch, offsets, legs, ranked);
      return;
    }
    for (offsets.early[leg] = 1; offsets.early[leg] <= steepest; ++offsets.early[leg])
      self(self, leg + 1);
  };
  choose(choose, 0);
}

// Tries blocks whose first legs of F and of I have larger offsets on the first devices than on the
// others (Qi et al. 2024, section 3.3).
void two_pieces(Sketch& sketch, int legs, std::uint32_t devices, std::int64_t interval,
                std::vector<Ranked>& ranked) {
  for (std::int64_t knee = 1; knee + 1 < devices; ++knee)
    for (std::int64_t steep = 2; steep <= 5; ++steep)
      for (std::int64_t flat = 1; flat < steep; ++flat) {
        Offsets offsets{.knee = knee, .interval = interval};
        offsets.early.fill(1);
        offsets.late.fill(1);
        for (const int leg : {0, legs / 2}) offsets.early[leg] = steep, offsets.late[leg] = flat;
        with_gaps(sketch, offsets, legs, ranked);
      }
}

BuildingBlock to_block(const Sketch& sketch, const Pipeline& pipeline, const Offsets& offsets,
                       int legs) {
  BuildingBlock block{.name = "",
                      .devices = pipeline.devices,
                      .routes = pipeline.routes,
                      .interval = offsets.interval,
                      .passes = {}};
  for (int leg = 0; leg < legs; ++leg) {
    const bool forward = leg < legs / 2;
    block.name +=
        fmt::format("{}{}+{}", leg > 0 ? " " : "", forward ? 'F' : 'I', offsets.early[leg]);
    if (offsets.early[leg] != offsets.late[leg])
      block.name += fmt::format("/{} from device {}", offsets.late[leg], offsets.knee);
    const int chunk = forward ? leg : legs - 1 - leg;
    for (std::uint32_t device = 0; device < pipeline.devices; ++device) {
      const std::uint32_t stage = chunk == 0 ? device : 2 * pipeline.devices - 1 - device;
      block.passes.push_back(
          {{forward ? PassKind::forward : PassKind::input_grad, static_cast<std::uint16_t>(stage)},
           sketch.cell(leg, device)});
    }
  }
  block.name += fmt::format(" every {}", offsets.interval);
  place_weight_grads(block);
  return block;
}

}  // namespace

std::vector<BuildingBlock> block_seeds(const Pipeline& pipeline, std::size_t max_blocks) {
  const int legs = pipeline.routes.stages() == pipeline.devices ? 2 : 4;
  Sketch sketch(pipeline, legs);

  std::vector<Ranked> ranked;
  const std::int64_t tight = 3 * legs / 2;
  uniform(sketch, legs, tight, 5, ranked);
  two_pieces(sketch, legs, pipeline.devices, tight, ranked);
  for (std::int64_t interval = tight + 1; interval <= 64 && ranked.empty(); ++interval)
    uniform(sketch, legs, interval, 2, ranked);

  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair{-a.peak, a.length} < std::pair{-b.peak, b.length};
  });
  std::vector<BuildingBlock> blocks;
  std::set<std::tuple<std::array<std::int64_t, max_legs>, std::array<std::int64_t, max_legs>,
                      std::int64_t>>
      seen;
  for (const Ranked& candidate : ranked) {
    if (blocks.size() == max_blocks) break;
    if (!seen.insert({candidate.offsets.early, candidate.offsets.late, candidate.offsets.knee})
             .second)
      continue;
    sketch.place(candidate.offsets);
    blocks.push_back(to_block(sketch, pipeline, candidate.offsets, legs));
  }
  return blocks;
}

}  // namespace pipewright::schedules
