#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::tests {

// Returns a random row of a search: any outcome, arbitrary numbers, and notes of arbitrary bytes.
analysis::CandidateRow random_row(std::uint32_t seed);

// Returns a search over tp, pp and schedules of two groups of candidates, with rows of every
// outcome. The same seed always gives the same search.
analysis::SearchRun sample_search(std::uint32_t seed, std::uint32_t layouts = 60);

// Returns the row of a simulated candidate in a search for the highest throughput.
analysis::CandidateRow simulated_row(std::uint64_t candidate, double time_s,
                                     std::uint64_t peak_bytes, std::uint32_t group = 0);

// Returns a finished search over tp 1 and 2 on 8 GPUs. An iteration of its second candidate takes
// 1.1 s, and one of its first candidate 1 s.
analysis::SearchRun two_candidates();

// Returns the seconds that the candidates of two_candidates() take under each draw of perturbed
// conditions. The model of the simulator is exact in every draw.
analysis::Robustness robustness(const std::vector<double>& first_s,
                                const std::vector<double>& second_s);

// Removes the figures that only a simulation gives. The memory stays, since the plan gives it too.
inline void remove_simulation(analysis::CandidateRow& row) {
  analysis::CandidateRow planned;
  planned.peak_bytes = row.peak_bytes;
  planned.capacity_bytes = row.capacity_bytes;
  analysis::copy_simulated_figures(row, planned);
}

bool same(const analysis::CandidateRow& a, const analysis::CandidateRow& b);  // to the last bit

}  // namespace pipewright::tests
