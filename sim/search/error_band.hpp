#pragma once

#include <optional>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {

// Returns the distribution of the errors of predictions in measured runs of the same GPU, precision
// and kind of model. The runs are in platforms/accuracy, which `./dev accuracy` writes. Where fewer
// than ten such runs were measured, runs on any GPU count, and then runs of any precision. `gpu` is
// the type of the cluster's GPUs, used where the scenario names none. A scenario without a model
// has no error band.
std::optional<analysis::ErrorBand> error_band(const config::Value& scenario,
                                              const std::string& gpu);

}  // namespace pipewright::search
