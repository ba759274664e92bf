#include "schedules/blocks/reorder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "schedules/justify.hpp"

namespace pipewright::schedules {
namespace {

// Cells of one device: whether a pass takes them, and how many activations the device holds in
// each.
struct Row {
  std::vector<bool> taken;
  std::vector<std::int64_t> held;

  void take(std::int64_t from, std::int64_t length, bool value) {
    std::fill_n(taken.begin() + from, length, value);
  }
  bool is_free(std::int64_t from, std::int64_t length) const {
    return std::find(taken.begin() + from, taken.begin() + from + length, true) ==
           taken.begin() + from + length;
  }
};

struct Placed {
  std::int64_t start = 0;
  std::uint32_t device = 0;
  Pass pass;
};

class Slider {
 public:
  Slider(const Grid& grid, const std::vector<std::int64_t>& peaks);
  Grid run();

 private:
  std::int64_t length(PassKind kind) const { return grid_.lengths[static_cast<std::size_t>(kind)]; }
  std::int64_t& end_of(const Pass& pass, PassKind kind) {
    const auto group =
        static_cast<std::size_t>(kind == PassKind::backward ? PassKind::input_grad : kind);
    return ends_[group][std::size_t{pass.stage} * grid_.microbatches + pass.microbatch];
  }
  std::int64_t inputs_end(const Pass& pass);
  bool takes_activation(const Pass& pass) const;
  void move(Placed& placed);

  const Grid& grid_;
  const std::vector<std::int64_t>& peaks_;
  std::vector<Placed> passes_;
  std::vector<Row> rows_;
  std::array<std::vector<std::int64_t>, pass_kinds> ends_;  // [kind][stage, microbatch]
};

Slider::Slider(const Grid& grid, const std::vector<std::int64_t>& peaks)
    : grid_(grid), peaks_(peaks), rows_(grid.rows.size()) {
  std::int64_t cells = 0;
  for (std::uint32_t device = 0; device < grid.rows.size(); ++device)
    for (const Cell& cell : grid.rows[device]) {
      passes_.push_back({cell.start, device, cell.pass});
      cells = std::max(cells, cell.start + length(cell.pass.kind));
    }
  std::stable_sort(passes_.begin(), passes_.end(),
                   [](const Placed& a, const Placed& b) { return a.start < b.start; });
  for (auto& ends : ends_) ends.resize(std::size_t{grid.routes.stages()} * grid.microbatches);
  for (Row& row : rows_) {
    row.taken.resize(static_cast<std::size_t>(cells));
    row.held.resize(static_cast<std::size_t>(cells) + 1);
  }
  for (const Placed& placed : passes_) {
    Row& row = rows_[placed.device];
    const std::int64_t end = placed.start + length(placed.pass.kind);
    row.take(placed.start, length(placed.pass.kind), true);
    if (takes_activation(placed.pass)) ++row.held[static_cast<std::size_t>(placed.start)];
    if (ends_microbatch(placed.pass.kind)) --row.held[static_cast<std::size_t>(end)];
  }
  for (Row& row : rows_)
    for (std::size_t i = 1; i < row.held.size(); ++i) row.held[i] += row.held[i - 1];
}

bool Slider::takes_activation(const Pass& pass) const {
  const bool recomputes = !grid_.recomputed.empty() && grid_.recomputed[pass.stage];
  return pass.kind == (recomputes ? PassKind::recompute : PassKind::forward);
}

std::int64_t Slider::inputs_end(const Pass& pass) {
  Pass neighbour = pass;
  switch (pass.kind) {
    case PassKind::forward:
      --neighbour.stage;
      return pass.stage == 0 ? 0 : end_of(neighbour, PassKind::forward);
    case PassKind::weight_grad:
      return end_of(pass, PassKind::input_grad);
    case PassKind::recompute:
      return end_of(pass, PassKind::forward);
    case PassKind::input_grad:
    case PassKind::backward:
      break;
    case PassKind::output:
    case PassKind::output_grad:
      throw std::logic_error("a building block has no passes of a split vocabulary");
  }
  const std::int64_t local_end =
      std::max(end_of(pass, PassKind::forward), end_of(pass, PassKind::recompute));
  if (pass.stage + 1U == grid_.routes.stages()) return local_end;
  ++neighbour.stage;
  return std::max(local_end, end_of(neighbour, PassKind::input_grad));
}

void Slider::move(Placed& placed) {
  Row& row = rows_[placed.device];
  const std::int64_t cells = length(placed.pass.kind);
  std::int64_t to = inputs_end(placed.pass);
  if (takes_activation(placed.pass)) {
    std::int64_t room = placed.start;
    while (room > to && row.held[static_cast<std::size_t>(room - 1)] < peaks_[placed.device])
      --room;
    to = room;
  }
  row.take(placed.start, cells, false);
  while (to < placed.start && !row.is_free(to, cells)) ++to;
  row.take(to, cells, true);
  const auto change = [&](std::int64_t from, std::int64_t until, int by) {
    for (std::int64_t i = from; i < until; ++i) row.held[static_cast<std::size_t>(i)] += by;
  };
  if (takes_activation(placed.pass)) change(to, placed.start, 1);
  if (ends_microbatch(placed.pass.kind)) change(to + cells, placed.start + cells, -1);
  placed.start = to;
  end_of(placed.pass, placed.pass.kind) = to + cells;
}

Grid Slider::run() {
  for (Placed& placed : passes_) move(placed);
  std::stable_sort(passes_.begin(), passes_.end(),
                   [](const Placed& a, const Placed& b) { return a.start < b.start; });
  Grid slid = grid_;
  for (auto& row : slid.rows) row.clear();
  for (const Placed& placed : passes_)
    slid.rows[placed.device].push_back({placed.pass, placed.start});
  return slid;
}

}  // namespace

Grid slide(const Grid& grid, const std::vector<std::int64_t>& peaks) {
  return Slider(grid, peaks).run();
}
namespace {

Grid justified(const Grid& grid, const std::vector<std::int64_t>& peaks) {
  const std::uint32_t stages = grid.routes.stages();
  const auto devices = static_cast<std::uint32_t>(grid.rows.size());
  const Pipeline pipeline{.routes = grid.routes,
                          .devices = devices,
                          .microbatches = grid.microbatches,
                          .times = times_in_cells(grid.lengths, stages),
                          .memory = {.held = std::vector<std::int64_t>(stages, 1),
                                     .released_by_input_grad = std::vector<std::int64_t>(stages, 0),
                                     .limit = peaks},
                          .recomputed = grid.recomputed};
  const Justifier justifier(pipeline);
  constexpr int rounds = 4;
  const Plan best =
      justifier.improve(justifier.plan(order_of(grid)), Pull::safe, Objective::span, rounds);
  Grid result = grid;
  for (std::uint32_t device = 0; device < devices; ++device)
    for (std::size_t i = 0; i < result.rows[device].size(); ++i)
      result.rows[device][i] = {best.order[device][i], std::llround(best.start[device][i])};
  return result;
}

}  // namespace

std::vector<std::int64_t> peaks_of(const Grid& grid) {
  const Schedule schedule = to_schedule(grid);
  std::vector<std::int64_t> peaks;
  for (const double microbatches : peak_in_flight(schedule))
    peaks.push_back(std::llround(microbatches / schedule.share()));
  return peaks;
}

Grid reorder(const Grid& grid, const std::vector<std::int64_t>& peaks) {
  return justified(squeeze(slide(grid, peaks)), peaks);
}

}  // namespace pipewright::schedules
