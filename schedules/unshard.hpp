#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/program.hpp"
#include "schedules/routes.hpp"

// The stages of a device whose weights FSDP holds whole, by the rule of PyTorch
// (torch/distributed/pipelining/schedules.py, _add_unshard_reshard): before each pass, the stages
// of the next passes are gathered ("unshard") up to a number of stages, and all others are freed
// ("reshard"). A lookahead delays gathering without changing what is freed when
// (github.com/pytorch/pytorch/pull/196706, unshard_lookahead).
namespace pipewright::schedules {

// Number of stages that PyTorch gathers at a time (max_active_stages): that of a forward pass, that
// of a backward pass, and the next one.
inline constexpr std::uint32_t torch_unsharded_stages = 3;

// Numbers of stages, counted along the next passes of a device.
struct UnshardWindow {
  // NOLINTNEXTLINE(google-explicit-constructor)
  UnshardWindow(std::uint32_t stages) : UnshardWindow(stages, stages) {}
  UnshardWindow(std::uint32_t stages, std::uint32_t stages_ahead)
      : resident(stages), lookahead(stages_ahead) {}

  std::uint32_t resident;   // Stages that stay gathered; all others are freed.
  std::uint32_t lookahead;  // Stages whose gathering may start; at most `resident`.
};

// Returns the lookahead of a pipeline rank by PyTorch's rule "auto": a rank waits rank forward
// passes for its first input, and a gathering that takes as long as a forward pass can run in each.
inline std::uint32_t automatic_lookahead(std::uint32_t rank, std::uint32_t resident) {
  return rank + 2 < resident ? rank + 2 : resident;
}

// Change of the gathered stages between two passes: first stages are freed, then others gathered.
struct UnshardStep {
  std::size_t position = 0;            // Number of passes before it.
  std::vector<std::uint16_t> reshard;  // In ascending order.
  std::vector<std::uint16_t> unshard;  // In the order of their next passes.

  friend bool operator==(const UnshardStep&, const UnshardStep&) = default;
};
// All changes of a device in an iteration. The last one frees all stages after the last pass.
using UnshardPlan = std::vector<UnshardStep>;

// Makes the plan for passes in this order. Both stages of a fused pair are gathered together, so
// there may be one more than each window allows.
UnshardPlan plan_unshards(const std::vector<Pass>& passes, const UnshardWindow& window);
// Makes the plan for one iteration of a device.
UnshardPlan plan_unshards(const Program& program, const UnshardWindow& window);

// Returns the largest number of stages on one device.
std::uint32_t most_stages(const Routes& routes);

// Follows a plan through the passes of a device, once in each iteration.
class UnshardCursor {
 public:
  explicit UnshardCursor(const UnshardPlan& plan) : plan_(&plan) {}

  // Return the change that is due before the next pass or fused pair, and the one after a pass,
  // which only the last pass of an iteration has; null if there is none. Call the first once for a
  // pair, and the second once for each of its passes.
  const UnshardStep* before_pass() { return take(); }
  const UnshardStep* after_pass() {
    ++position_;
    return step_ + 1 == plan_->size() ? take() : nullptr;
  }

 private:
  const UnshardStep* take() {
    if (step_ == plan_->size() || (*plan_)[step_].position != position_) return nullptr;
    const UnshardStep& step = (*plan_)[step_];
    if (++step_ == plan_->size()) step_ = position_ = 0;
    return &step;
  }

  const UnshardPlan* plan_;
  std::size_t step_ = 0;
  std::size_t position_ = 0;
};

}  // namespace pipewright::schedules
