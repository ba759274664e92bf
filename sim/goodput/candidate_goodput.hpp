#pragma once

#include <cstdint>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/ratio_bound.hpp"

// Goodput runs of a search's candidates. They are the runs of `pipewright goodput`, but take the
// iteration from the row of the candidate, which must have its site. Errors are those of
// make_setting().
namespace pipewright::goodput {

// Simulates `seeds` runs in child processes. Returns the mean part of the time that is lost.
double lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                 std::uint64_t seeds);

// Returns a lower bound of the lost part. It does not need the duration of the iteration.
double lost_part_bound(const config::Scenario& scenario, const analysis::CandidateRow& row,
                       RatioBound& bound);

}  // namespace pipewright::goodput
