#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/evaluation/expected_error.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {

// A run of a scenario, as far as the table of capabilities distinguishes runs.
struct Request {
  const config::Scenario& scenario;
  const evaluation::RunKind& run;
  bool has_mixed_gpus = false;  // GPUs of several types
};

// Returns which capabilities a run has: bit i stands for row i of the table of capabilities.
std::uint64_t capabilities_of(const Request& request);

// Returns the table of capabilities in Markdown: what can be asked, by which key, and the mean
// errors of the iteration times and of the peak memories of all measured runs that have it.
std::string capability_table(const std::vector<Table>& tables);

}  // namespace pipewright::accuracy
