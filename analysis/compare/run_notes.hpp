#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/run_figures.hpp"

// What a reader has to know of runs that are compared. Names of files are made printable.
namespace pipewright::analysis {

bool unlike_iterations(std::span<const RunFigures> runs);

// Where the runs are not of the same work: iterations, microbatches, replicas, models.
std::vector<std::string> unlike_notes(const RunFigures& first, const RunFigures& other);

// Whether what went over links includes collectives in passes; empty where no run has any.
std::string link_note(std::span<const RunFigures> runs);

}  // namespace pipewright::analysis
