#pragma once

#include "analysis/report/search/objective.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::search {

// throughput, mfu, memory, tokens_a_day, or one of {time_to_train: 2T tokens}, {price: 2.5, tokens:
// 300B}, {memory: 1.2M tokens/s} and {tokens_a_day: 20 seeds}. Throws config::Error.
analysis::Objective read_objective(const config::Field& field);

// "2T", "300B tokens", "3e11"; and "2.5", "$2.5" or "2.5 EUR" of a GPU for an hour, which sets
// the price and the currency. Both throw config::Error.
double read_tokens(const config::Field& field);
void read_price(const config::Field& field, analysis::Objective& objective);

}  // namespace pipewright::search
