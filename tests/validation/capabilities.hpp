#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/evaluation/expected_error.hpp"
#include "validation/accuracy.hpp"

namespace pipewright::accuracy {

// The properties of a run that the table of capabilities needs.
struct Request {
  const config::Scenario& scenario;
  const evaluation::RunKind& run;
  bool has_mixed_gpus = false;  // GPUs of several types
};

// Returns which capabilities a run has: bit i stands for row i of the table of capabilities.
std::uint64_t capabilities_of(const Request& request);

// Returns the table of capabilities in Markdown: each capability, its scenario key, and the mean
// errors of the iteration times and of the peak memories of all measured runs that have it.
std::string capability_table(const std::vector<Table>& tables);

}  // namespace pipewright::accuracy
