#pragma once

#include "analysis/report/search/objective.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::search {

// Reads an objective: throughput, mfu, memory, tokens_a_day, {time_to_train: 2T tokens}, {price:
// 2.5, tokens: 300B}, {memory: 1.2M tokens/s} or {tokens_a_day: 20 seeds}. Throws config::Error.
analysis::Objective read_objective(const config::Field& field);

// Reads a number of tokens: "2T", "300B tokens", "3e11". Throws config::Error.
double read_tokens(const config::Field& field);
// Reads the price of a GPU-hour and its currency: "2.5", "$2.5", "2.5 EUR". Throws config::Error.
void read_price(const config::Field& field, analysis::Objective& objective);

}  // namespace pipewright::search
