#pragma once

#include <optional>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {

// How far predictions of runs like this one were from measurements, as `./dev accuracy` writes it
// to platforms/accuracy: of its GPU, precision and kind of model; where fewer than ten measured
// runs are like it, of any GPU, and then of any precision. `gpu` is of the cluster, which the
// scenario's own goes before. None of a scenario without a model.
std::optional<analysis::ErrorBand> error_band(const config::Value& scenario,
                                              const std::string& gpu);

}  // namespace pipewright::search
