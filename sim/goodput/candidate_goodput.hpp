#pragma once

#include <cstdint>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/ratio_bound.hpp"

// Lost training time of a search's candidates, computed as by `pipewright goodput`, but with the
// iteration from the candidate's row, which must have its site. Errors are those of make_setting().
namespace pipewright::goodput {

// Simulates `seeds` runs in child processes. Returns the mean fraction of time that is lost, for
// example to failures and checkpoints.
double lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                 std::uint64_t seeds);

// Returns a lower bound of the fraction of time that goodput runs of the candidate lose, as the
// mean over the seeds of `bound`. Does not need the duration of the iteration.
double lost_part_bound(const config::Scenario& scenario, const analysis::CandidateRow& row,
                       RatioBound& bound);

}  // namespace pipewright::goodput
