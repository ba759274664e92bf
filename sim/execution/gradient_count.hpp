#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::execution {

// Follows one device's passes and knows when the gradients of a stage, and of all its stages, are
// summed up.
class GradientCount {
 public:
  GradientCount(const schedules::Schedule& schedule, std::uint32_t device);

  const std::vector<std::uint32_t>& stages() const { return stages_; }  // of the device
  std::uint32_t iteration_of(const schedules::Pass& pass) const;
  // Whether this pass, which has not been added, is the last to add to its stage's gradients.
  bool completes_stage(const schedules::Pass& pass) const;
  // The iteration whose gradients are complete with this pass.
  std::optional<std::uint32_t> add(const schedules::Pass& pass);

 private:
  const schedules::Schedule& schedule_;
  std::vector<std::uint32_t> stages_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> added_;  // iteration, stage
  std::map<std::uint32_t, std::uint32_t> complete_;                         // stages, by iteration
};

}  // namespace pipewright::execution
