#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/report/sharing.hpp"
#include "sim/evaluation/sharing/joint_run.hpp"

namespace pipewright::evaluation {

struct SweepOfPhases {
  std::vector<double> phases;  // parts of the first job's iteration, 0 to 1
  std::size_t jobs = 1;        // simulations at a time
  // Called often with the simulations that are done, and their number; what it throws ends all.
  std::function<void(std::size_t done, std::size_t of)> look = [](std::size_t, std::size_t) {};
};

// So many phases, spread evenly over an iteration.
std::vector<double> even_phases(std::uint32_t count);

// Each job alone, and all of them in each phase: the second job starts by the phase later than the
// first, the third by twice the phase, and so on, modulo one iteration of the first. Every
// simulation is a process of its own. Jobs go on until each has ended enough iterations in their
// common window, and a job's slow-down is the time of its iterations in the window by what the same
// iterations take alone. Throws std::runtime_error where a simulation fails.
analysis::Sharing sweep_phases(JointRun& run, const SweepOfPhases& sweep);

}  // namespace pipewright::evaluation
