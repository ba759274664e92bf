#pragma once

#include <functional>
#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::tests {

using LookAt = std::function<void(const trace::Trace& trace, const std::string& what)>;

// Traces of random jobs, the same every time; returns how many. All schedules of the catalog in
// all modes of sending, by both engines on an ideal network and on links that flows share.
int random_pipelines(const LookAt& look);
// Traces of random data-parallel jobs with weights, gradients and optimizer steps.
int random_hybrids(const LookAt& look);

}  // namespace pipewright::tests
