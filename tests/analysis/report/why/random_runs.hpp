#pragma once

#include <functional>
#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::tests {

using LookAt = std::function<void(const trace::Trace& trace, const std::string& what)>;

// Calls `look` with the trace of every schedule in the catalog, in every mode of sending and with
// both engines, on an ideal network and on links that flows share. Jobs are random, but the same in
// every run. Returns the number of traces.
int random_pipelines(const LookAt& look);
// Calls `look` with traces of random data-parallel jobs, which gather weights, reduce gradients and
// run optimizer steps. Returns the number of traces.
int random_hybrids(const LookAt& look);

}  // namespace pipewright::tests
