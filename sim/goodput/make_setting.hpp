#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Derives the parameters of a goodput simulation from a scenario, for training a number of tokens
// or for goodput.duration. Throws config::Error if the size of a checkpoint or the tokens of an
// iteration are unknown, if a given interval is shorter than an iteration, or if a seed has too
// many incidents to simulate.
Setting make_setting(const config::Goodput& goodput, const config::Parallel& parallel,
                     const Iteration& iteration, std::optional<double> tokens = std::nullopt);

// Returns the unit to whose days the rate of a failure refers.
config::Goodput::Unit unit_of(const config::Goodput::Failure& failure);

// Returns notes about requests that can be simulated but do not match the cluster or the job.
std::vector<std::string> notes_of(const config::Goodput& goodput, const Iteration& iteration);

// Returns the checkpoint interval by Daly's formula, but at least the time to write a checkpoint
// and an iteration. Returns the length of the run if nothing interrupts it.
double best_by_formula(const Setting& setting);

// Parameters of Daly's model for a setting, in seconds.
struct DalyModel {
  double mean = never;       // Mean time between interruptions.
  double interval = 0;       // Training between two checkpoints that it can go back to.
  double stall = 0;          // Time for which a checkpoint stops training.
  double restart = 0;        // Time from an interruption until training continues.
  double storage_stall = 0;  // Stall that determines the interval of checkpoints to the storage.
};
DalyModel daly_model(const Setting& setting);

}  // namespace pipewright::goodput
