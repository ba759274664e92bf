#pragma once

#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"

// Notes on GPUs some of whose numbers have been published as ranges
// (sim/config/published_range.hpp).
namespace pipewright::evaluation {

// Returns the notes of config::range_note() for all types of GPU of the finished `runs` of a
// scenario's schedules. If all GPUs are of one type, the note also has the time of each run at the
// ends of the ranges, which takes two further simulations of each schedule. Their rows go to
// `rows`.
std::vector<std::string> notes_of_ranges(const config::Scenario& scenario, const Hardware& hardware,
                                         const std::vector<analysis::Summary>& runs,
                                         trace::Sink& rows);

}  // namespace pipewright::evaluation
