#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/journal.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Setting to simulate, with the number of its seeds (independent random runs).
struct Variant {
  std::string name;
  Setting setting;
  std::uint64_t seeds = 1;
};

struct RunOptions {
  std::uint64_t first_seed = 1;
  std::size_t jobs = 1;
  std::function<void(double share)> look;  // Called regularly; an exception ends the run.
  // Called if a variant after the first one fails, such as one that hardly trains between its
  // failures. Without this function, the failure is an exception.
  std::function<void(std::size_t variant)> on_failed;
};

// Simulates all seeds of all variants in child processes. Each process takes a fixed group of
// seeds, so results in the journal are reused even if the number of seeds has changed. New results
// are appended to the journal. Returns the outcomes by variant and seed. The seeds of a process
// that is killed are simulated a second time. Throws std::runtime_error if a process fails,
// unless `on_failed` takes the failure.
std::vector<std::vector<analysis::GoodputOutcome>> run(const std::vector<Variant>& variants,
                                                       const RunOptions& options,
                                                       Journal* journal = nullptr);

// Simulates one seed and returns the periods of training, checkpoints, stops and so on, in order of
// time.
std::vector<analysis::GoodputSpan> spans_of(const Setting& setting, std::uint64_t seed);

}  // namespace pipewright::goodput
