#pragma once

#include <string>

#include "sim/config/text/value.hpp"

// Note on a GPU some of whose numbers have been published as ranges (published_range.hpp).
namespace pipewright::config {

// Returns the keys of a scenario's GPU, with its name. It is that of the cluster (`cluster_gpu`)
// unless the scenario names one.
Value keys_of_gpu(const Value& scenario, const std::string& cluster_gpu);
// Returns a note with the ranges of that GPU; empty if it has none.
std::string range_note(const Value& scenario, const std::string& cluster_gpu);

}  // namespace pipewright::config
