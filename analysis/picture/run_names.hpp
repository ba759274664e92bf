#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// "1f1b", "interleaved-1f1b x5": what tells the runs of a picture apart, and no more than that.
// Runs that are equal in all of it are numbered.
std::vector<std::string> run_names(std::span<const Summary> runs);

}  // namespace pipewright::analysis
