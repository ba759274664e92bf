#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

struct BuildingBlock;

struct Entry {
  std::string_view name;
  std::string_view help;    // one line
  std::string_view source;  // the paper or the implementation that it is from
  std::array<Choice, choices.size()> accepts = {};              // choices of users; the rest null
  Routes (*placement)(const Parameters& parameters) = nullptr;  // of what it makes
  bool whole_backward = false;  // each backward pass is one, input and weight gradients together
  bool plans = false;  // for the times of its placement's stages, hop and input_grad_releases
  BuildingBlock (*block)(const Parameters& parameters) = nullptr;  // that it is built from, if any
  Schedule (*make)(const Parameters& parameters) = nullptr;

  constexpr bool takes(Choice choice) const {
    return std::ranges::find(accepts, choice) != accepts.end();
  }
};

// Every schedule there is, in the order in which users see them: related ones together. How to add
// one: CONTRIBUTING.md.
std::span<const Entry> catalog();

// Throws Error for more devices, stages or passes than are supported, before anything is made.
// make_schedule() checks the same; a sweep checks each of its schedules so as it is read.
void check_limits(std::string_view name, const Parameters& parameters);

// Throws Error if the name is unknown or the family cannot do these sizes.
Schedule make_schedule(std::string_view name, const Parameters& parameters);

}  // namespace pipewright::schedules
