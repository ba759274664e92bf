#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

struct BuildingBlock;

// A family of schedules, which the user chooses by name.
struct Entry {
  std::string_view name;
  std::string_view help;    // One line.
  std::string_view source;  // Paper or implementation that defines the schedule.
  std::array<Choice, choices.size()> accepts =
      {};  // Choices that the family takes; the rest is null.
  Routes (*placement)(const Parameters& parameters) = nullptr;  // Placement of its stages.
  bool whole_backward = false;  // No backward is split into I and W.
  bool plans = false;  // Plans for stage times, hop and input_grad_releases of the parameters.
  BuildingBlock (*block)(const Parameters& parameters) = nullptr;  // Its building block, if any.
  Schedule (*make)(const Parameters& parameters) = nullptr;

  constexpr bool takes(Choice choice) const {
    return std::ranges::find(accepts, choice) != accepts.end();
  }
};

// All schedules in the order in which users see them: related ones together. CONTRIBUTING.md says
// how to add one.
std::span<const Entry> catalog();

// Returns whether the schedule with this name is plain accumulation of gradients on one device,
// which software runs without a pipeline.
constexpr bool is_plain_on_one_device(std::string_view name) {
  return name == "1f1b" || name == "gpipe";
}

// Throws Error if devices, stages or passes are more than supported. make_schedule() checks the
// same limits; sweeps call this for all schedules while they are read, before making any of them.
void check_limits(std::string_view name, const Parameters& parameters);

// Makes the schedule of the family with this name. Throws Error if the name is unknown or the
// family does not support these sizes.
Schedule make_schedule(std::string_view name, const Parameters& parameters);

}  // namespace pipewright::schedules
