#include "schedules/unshard.hpp"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

namespace pipewright::schedules {
namespace {

using Stages = std::vector<std::uint16_t>;

Stages without(std::span<const std::uint16_t> stages, std::span<const std::uint16_t> excluded) {
  Stages result;
  for (const std::uint16_t stage : stages)
    if (std::ranges::find(excluded, stage) == excluded.end()) result.push_back(stage);
  return result;
}

// The next passes of all stages, seen from a pass. Passes are added from the last to the first.
class NextUses {
 public:
  // `cell` is the position of the pass, or of the first pass of its pair.
  void add(std::uint16_t stage, std::size_t cell) {
    std::erase_if(uses_, [&](const Use& use) { return use.stage == stage; });
    uses_.insert(uses_.begin(), {stage, cell});
  }
  // Returns how many stages of the nearest passes a window of `limit` stages holds: one more than
  // the limit if the window would cut a fused pair.
  std::size_t count(std::size_t limit) const {
    limit = std::min(limit, uses_.size());
    while (limit < uses_.size() && limit > 0 && uses_[limit].cell == uses_[limit - 1].cell) ++limit;
    return limit;
  }
  // Appends the stages of the nearest `count` passes.
  void append(std::size_t count, Stages& stages) const {
    for (std::size_t i = 0; i < count; ++i) stages.push_back(uses_[i].stage);
  }

 private:
  struct Use {
    std::uint16_t stage;
    std::size_t cell;
  };
  std::vector<Use> uses_;  // Nearest first.
};

}  // namespace

UnshardPlan plan_unshards(const std::vector<Pass>& passes, const UnshardWindow& window) {
  // A pass or fused pair, with the stages of the next passes: `residents` of them, nearest first,
  // of which the first `ahead` may be gathered.
  struct Cell {
    std::size_t position;
    std::uint16_t residents;
    std::uint16_t ahead;
  };
  std::vector<Cell> cells;  // From the last to the first.
  Stages stages;            // Of all cells, in this order.
  NextUses uses;
  for (std::size_t i = passes.size(); i-- > 0;) {
    const std::size_t cell = i > 0 && passes[i - 1].fused ? i - 1 : i;
    uses.add(passes[i].stage, cell);
    if (cell != i) continue;
    const std::size_t residents = uses.count(window.resident);
    cells.push_back({i, static_cast<std::uint16_t>(residents),
                     static_cast<std::uint16_t>(uses.count(window.lookahead))});
    uses.append(residents, stages);
  }

  UnshardPlan plan;
  Stages gathered;
  const auto change = [&](std::size_t position, std::span<const std::uint16_t> residents,
                          std::size_t ahead) {
    UnshardStep step{.position = position,
                     .reshard = without(gathered, residents),
                     .unshard = without(residents.first(ahead), gathered)};
    gathered = without(gathered, step.reshard);
    gathered.insert(gathered.end(), step.unshard.begin(), step.unshard.end());
    std::ranges::sort(step.reshard);
    if (!step.reshard.empty() || !step.unshard.empty()) plan.push_back(std::move(step));
  };
  std::span<const std::uint16_t> rest = stages;
  for (const Cell& cell : cells | std::views::reverse) {
    change(cell.position, rest.last(cell.residents), cell.ahead);
    rest = rest.first(rest.size() - cell.residents);
  }
  change(passes.size(), {}, 0);
  return plan;
}

UnshardPlan plan_unshards(const Program& program, const UnshardWindow& window) {
  Program iteration = program;
  iteration.iterations = 1;
  return plan_unshards(passes_of(iteration), window);
}

std::uint32_t most_stages(const Routes& routes) {
  std::vector<std::uint32_t> counts;  // By device.
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      const std::uint32_t device = routes.device(stage, route);
      if (device >= counts.size()) counts.resize(device + 1);
      ++counts[device];
    }
  return std::ranges::max(counts);
}

}  // namespace pipewright::schedules
