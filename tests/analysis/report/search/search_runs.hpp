#pragma once

#include <cstdint>

#include "analysis/report/search/rows.hpp"

namespace pipewright::tests {

// Rows of any outcome with any figures, and notes of any bytes.
analysis::CandidateRow random_row(std::uint32_t seed);

// A search over tp, pp and schedules, on two groups, with rows of every outcome; deterministic.
analysis::SearchRun sample_search(std::uint32_t seed, std::uint32_t layouts = 60);

// One simulated row of a throughput search.
analysis::CandidateRow simulated_row(std::uint64_t candidate, double time_s,
                                     std::uint64_t peak_bytes, std::uint32_t group = 0);

bool same(const analysis::CandidateRow& a, const analysis::CandidateRow& b);  // to the last bit

}  // namespace pipewright::tests
