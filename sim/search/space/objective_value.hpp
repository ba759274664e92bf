#pragma once

#include "analysis/search/objective.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::search {

// throughput, mfu, memory, or one of {time_to_train: 2T tokens}, {price: 2.5, tokens: 300B} and
// {memory: 1.2M tokens/s}. Throws config::Error.
analysis::Objective read_objective(const config::Field& field);

}  // namespace pipewright::search
