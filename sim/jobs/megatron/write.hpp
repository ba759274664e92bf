#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs::megatron {

// A scenario by Megatron-LM's flags, and in sentences what they cannot say by their nature: a
// schedule that it has not.
struct Written {
  std::vector<Setting> settings;
  std::vector<std::string> cannot;
};
// `arguments`: for Megatron-LM's own; else for configurations whose recipes have other defaults.
Written write(const config::Scenario& scenario, bool arguments);

}  // namespace pipewright::jobs::megatron
