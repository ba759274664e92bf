#pragma once

#include <cstdint>

#include "analysis/report/search/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/at_best.hpp"

// Weeks of a candidate of a search, whose row has its site: as `pipewright goodput` has them, but
// with what was found out of an iteration. Throw config::Error as make_setting() does.
namespace pipewright::goodput {

// The part of the time that is lost, simulated in child processes under so many seeds.
double lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                 std::uint64_t seeds);

// No simulation of it loses less. Without its time.
double least_lost_part(const config::Scenario& scenario, const analysis::CandidateRow& row,
                       AtBest& at_best);

}  // namespace pipewright::goodput
