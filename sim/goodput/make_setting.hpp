#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// The numbers of a scenario's training, of so many tokens where they are given. Throws
// config::Error where a checkpoint has no size, where tokens are not known, where an interval that
// was given is shorter than an iteration, and where a seed has too many incidents to simulate.
Setting make_setting(const config::Goodput& goodput, const config::Parallel& parallel,
                     const Iteration& iteration, std::optional<double> tokens = std::nullopt);

// What was asked that can be simulated, but is not what this cluster and job have.
std::vector<std::string> notes_of(const config::Goodput& goodput, const Iteration& iteration);

// Daly's interval for a setting, or as long as writing or an iteration takes; its whole length
// where nothing stops it.
double best_by_formula(const Setting& setting);

// A setting in the words of Daly's model, in seconds.
struct DalyModel {
  double mean = never;       // between what stops it
  double interval = 0;       // of training between two checkpoints that it goes back to
  double stall = 0;          // for which training waits at one
  double restart = 0;        // until it trains again
  double storage_stall = 0;  // that the interval of checkpoints to the storage is chosen by
};
DalyModel daly_model(const Setting& setting);

}  // namespace pipewright::goodput
