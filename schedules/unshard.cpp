#include "schedules/unshard.hpp"

#include <algorithm>
#include <span>

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
  // Returns the stages of the nearest passes, `count` or, if a pair is cut, one more.
  Stages nearest(std::size_t count) const {
    count = std::min(count, uses_.size());
    while (count < uses_.size() && uses_[count].cell == uses_[count - 1].cell) ++count;
    Stages stages;
    for (std::size_t i = 0; i < count; ++i) stages.push_back(uses_[i].stage);
    return stages;
  }

 private:
  struct Use {
    std::uint16_t stage;
    std::size_t cell;
  };
  std::vector<Use> uses_;  // Nearest first.
};

}  // namespace

UnshardPlan plan_unshards(const std::vector<Pass>& passes, std::uint32_t max_stages) {
  UnshardPlan plan;  // From the last change to the first.
  NextUses uses;
  Stages later;  // Stages gathered at `position`.
  std::size_t position = passes.size();
  const auto come_from = [&](const Stages& before) {
    UnshardStep step{position, without(before, later), without(later, before)};
    std::ranges::sort(step.reshard);
    if (!step.reshard.empty() || !step.unshard.empty()) plan.push_back(std::move(step));
  };
  for (std::size_t i = passes.size(); i-- > 0;) {
    const std::size_t cell = i > 0 && passes[i - 1].fused ? i - 1 : i;
    uses.add(passes[i].stage, cell);
    if (cell != i) continue;
    Stages gathered = uses.nearest(max_stages);
    come_from(gathered);
    later = std::move(gathered);
    position = i;
  }
  come_from({});
  std::ranges::reverse(plan);
  return plan;
}

UnshardPlan plan_unshards(const Program& program, std::uint32_t max_stages) {
  Program iteration = program;
  iteration.iterations = 1;
  return plan_unshards(passes_of(iteration), max_stages);
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
