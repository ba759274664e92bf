#pragma once

#include "analysis/search/rows.hpp"
#include "analysis/summary.hpp"

namespace pipewright::evaluation {

// Where the time of a run goes, as a mean over its devices and of its iterations.
analysis::TimeParts time_parts(const analysis::Summary& summary);

}  // namespace pipewright::evaluation
