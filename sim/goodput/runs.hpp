#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/journal.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// A setting under so many seeds, from the first on.
struct Variant {
  std::string name;
  Setting setting;
  std::uint64_t seeds = 1;
};

struct RunOptions {
  std::uint64_t first_seed = 1;
  std::size_t jobs = 1;
  std::function<void(double share)> look;  // now and then; what it throws ends all
};

// Simulates all seeds of all variants in child processes, a few seeds each, always the same ones
// together. What the journal has of these is not done again, for however many seeds it was; what is
// new goes into it. Throws std::runtime_error where a process fails.
std::vector<std::vector<analysis::GoodputOutcome>> run(const std::vector<Variant>& variants,
                                                       const RunOptions& options,
                                                       Journal* journal = nullptr);

// What one seed did when.
std::vector<analysis::GoodputSpan> spans_of(const Setting& setting, std::uint64_t seed);

}  // namespace pipewright::goodput
