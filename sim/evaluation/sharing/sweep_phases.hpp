#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "analysis/report/sharing.hpp"
#include "sim/evaluation/sharing/joint_run.hpp"

namespace pipewright::evaluation {

struct PhaseSweepOptions {
  std::vector<double> phases;  // fractions of the first job's iteration, 0 to 1
  std::size_t jobs = 1;        // parallel simulations
  // Callback with the number of finished simulations and of all simulations, called often. If it
  // throws, the sweep ends.
  std::function<void(std::size_t done, std::size_t total)> on_progress = [](std::size_t,
                                                                            std::size_t) {};
};

// `count` start offsets, as fractions of an iteration, spread evenly from 0.
std::vector<double> even_phases(std::uint32_t count);

// Simulates each job alone, and all jobs together in each phase: the second job starts later than
// the first by the phase, the third by twice the phase, and so on, modulo one iteration of the
// first job. Every simulation runs in a process of its own. Jobs continue until each has finished
// enough iterations in the common window. The slowdown of a job is the time of its iterations in
// the window divided by the time of the same iterations alone. Throws std::runtime_error if a
// simulation fails.
analysis::Sharing sweep_phases(JointRun& run, const PhaseSweepOptions& sweep);

}  // namespace pipewright::evaluation
