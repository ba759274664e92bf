#pragma once

#include <optional>

#include "sim/config/goodput.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// The numbers of a scenario's training, of so many tokens where they are given. Throws
// config::Error where a checkpoint has no size, and where tokens are not known.
Setting make_setting(const config::Goodput& goodput, const config::Parallel& parallel,
                     const Iteration& iteration, std::optional<double> tokens = std::nullopt);

// Daly's interval for a setting, or as long as writing takes; its whole length where nothing stops
// it.
double best_by_formula(const Setting& setting);

}  // namespace pipewright::goodput
