#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// Ticks are the page's unit of time, 10^-digits seconds: the longest run has 10^10 to 10^11 of
// them, which a JavaScript number holds exactly and which leaves errors of 10^-10 of the run.
int tick_digits(double longest_s);

// All that the page shows apart from the rows, as JSON that may stand within a script element.
std::string page_json(std::span<const trace::Trace> runs, std::span<const Summary> summaries,
                      int tick_digits);

// JSON in which nothing can end the script element around it or begin a comment in it.
std::string script_safe(std::string_view json);

}  // namespace pipewright::analysis
