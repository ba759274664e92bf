#pragma once

#include <array>

// Names of enumeration values, which journals, results files, CSV, JSON and the page share.
namespace pipewright::analysis {

// Names of outcomes in files, in the order of Outcome.
inline constexpr std::array<const char*, 6> outcome_names{
    "open", "illegal", "does_not_fit", "bounded_away", "simulated", "failed"};
// Names of outcomes for people, in the order of Outcome.
inline constexpr std::array<const char*, 6> outcome_words{
    "open", "illegal", "does not fit", "bounded away", "simulated", "failed"};

// Names of objectives in files, in the order of Objective::Kind.
inline constexpr std::array<const char*, 6> objective_names{"throughput", "mfu",    "time_to_train",
                                                            "price",      "memory", "tokens_a_day"};

}  // namespace pipewright::analysis
