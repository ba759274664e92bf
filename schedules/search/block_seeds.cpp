#include "schedules/search/block_seeds.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

constexpr int most_legs = 4;

// Offsets of the legs: cells from one device to the next, before the knee and from it on, and idle
// cells between a leg and the next.
struct Offsets {
  std::array<std::int64_t, most_legs> early{};
  std::array<std::int64_t, most_legs> late{};
  std::array<std::int64_t, most_legs> gap{};
  std::int64_t knee = 0;  // device
  std::int64_t interval = 0;
};

struct Ranked {
  Offsets offsets;
  std::int64_t peak = 0;
  std::int64_t length = 0;
};

// Cells of the F and I legs on every device: cells[leg][device].
class Sketch {
 public:
  Sketch(const Pipeline& pipeline, int legs)
      : memory_(pipeline.memory), devices_(pipeline.devices), legs_(legs) {
    for (auto& leg : cells_) leg.resize(devices_);
  }

  // Places the legs one after the other: even ones go down the devices, odd ones up.
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

  // The most that a device holds once W take the free cells, in the unit of the memory; less than 0
  // where passes collide or a limit is broken.
  std::int64_t peak(std::int64_t interval) const {
    std::int64_t most = 0;
    for (std::uint32_t device = 0; device < devices_; ++device) {
      const std::int64_t held = held_on(device, interval);
      if (held < 0 || held > memory_.limit[device]) return -1;
      most = std::max(most, held);
    }
    return most;
  }

 private:
  std::int64_t held_on(std::uint32_t device, std::int64_t interval) const;

  const ActivationMemory& memory_;
  std::uint32_t devices_;
  int legs_;
  std::array<std::vector<std::int64_t>, most_legs> cells_;
  std::int64_t length_ = 0;
};

std::int64_t Sketch::held_on(std::uint32_t device, std::int64_t interval) const {
  std::uint64_t taken = 0;  // residues; intervals beyond 64 cells are not sketched
  for (int leg = 0; leg < legs_; ++leg) {
    const std::uint64_t bit = 1ULL << (cells_[leg][device] % interval);
    if ((taken & bit) != 0) return -1;
    taken |= bit;
  }
  // The chunk of leg l's F is that of the I that mirrors it. W come first come first served.
  std::array<std::int64_t, most_legs> gradient_end{};
  std::array<std::int64_t, most_legs> weight_grad_end{};
  for (int leg = legs_ / 2; leg < legs_; ++leg) {
    std::int64_t cell = cells_[leg][device] + 1;
    gradient_end[legs_ - 1 - leg] = cell;
    while ((taken >> (cell % interval) & 1U) != 0) ++cell;
    taken |= 1ULL << (cell % interval);
    weight_grad_end[legs_ - 1 - leg] = cell + 1;
  }
  std::int64_t most = 0;
  for (int at = 0; at < legs_ / 2; ++at) {
    const std::int64_t now = cells_[at][device];  // the peak comes with some F
    // How many repetitions have come to this cell by now.
    const auto come = [&](std::int64_t cell) {
      const std::int64_t distance = now - cell;
      return distance >= 0 ? distance / interval : -((-distance + interval - 1) / interval);
    };
    std::int64_t held = 0;
    for (int chunk = 0; chunk < legs_ / 2; ++chunk) {
      const std::uint32_t stage = chunk == 0 ? device : 2 * devices_ - 1 - device;
      const std::int64_t early = memory_.released_by_input_grad[stage];
      held += memory_.held[stage] * come(cells_[chunk][device]) -
              early * come(gradient_end[chunk]) -
              (memory_.held[stage] - early) * come(weight_grad_end[chunk]);
    }
    most = std::max(most, held);
  }
  return most;
}

void consider(Sketch& sketch, const Offsets& offsets, std::vector<Ranked>& found) {
  sketch.place(offsets);
  const std::int64_t peak = sketch.peak(offsets.interval);
  if (peak >= 0) found.push_back({offsets, peak, sketch.length()});
}

// All gaps of fewer than one interval between the legs.
void with_gaps(Sketch& sketch, Offsets offsets, int legs, std::vector<Ranked>& found) {
  const auto choose = [&](const auto& self, int leg) -> void {
    if (leg + 1 == legs) {
      consider(sketch, offsets, found);
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
             std::vector<Ranked>& found) {
  Offsets offsets{.interval = interval};
  const auto choose = [&](const auto& self, int leg) -> void {
    if (leg == legs) {
      offsets.late = offsets.early;
      with_gaps(sketch, offsets, legs, found);
      return;
    }
    for (offsets.early[leg] = 1; offsets.early[leg] <= steepest; ++offsets.early[leg])
      self(self, leg + 1);
  };
  choose(choose, 0);
}

// The first legs of F and of I steeper on the first devices (Qi et al. 2024, section 3.3).
void two_pieces(Sketch& sketch, int legs, std::uint32_t devices, std::int64_t interval,
                std::vector<Ranked>& found) {
  for (std::int64_t knee = 1; knee + 1 < devices; ++knee)
    for (std::int64_t steep = 2; steep <= 5; ++steep)
      for (std::int64_t flat = 1; flat < steep; ++flat) {
        Offsets offsets{.knee = knee, .interval = interval};
        offsets.early.fill(1);
        offsets.late.fill(1);
        for (const int leg : {0, legs / 2}) offsets.early[leg] = steep, offsets.late[leg] = flat;
        with_gaps(sketch, offsets, legs, found);
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

std::vector<BuildingBlock> block_seeds(const Pipeline& pipeline, std::size_t most) {
  const int legs = pipeline.routes.stages() == pipeline.devices ? 2 : 4;
  Sketch sketch(pipeline, legs);

  std::vector<Ranked> found;
  const std::int64_t tight = 3 * legs / 2;
  uniform(sketch, legs, tight, 5, found);
  two_pieces(sketch, legs, pipeline.devices, tight, found);
  for (std::int64_t interval = tight + 1; interval <= 64 && found.empty(); ++interval)
    uniform(sketch, legs, interval, 2, found);

  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair{-a.peak, a.length} < std::pair{-b.peak, b.length};
  });
  std::vector<BuildingBlock> blocks;
  std::set<std::tuple<std::array<std::int64_t, most_legs>, std::array<std::int64_t, most_legs>,
                      std::int64_t>>
      seen;
  for (const Ranked& one : found) {
    if (blocks.size() == most) break;
    if (!seen.insert({one.offsets.early, one.offsets.late, one.offsets.knee}).second) continue;
    sketch.place(one.offsets);
    blocks.push_back(to_block(sketch, pipeline, one.offsets, legs));
  }
  return blocks;
}

}  // namespace pipewright::schedules
