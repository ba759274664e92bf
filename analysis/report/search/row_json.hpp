#pragma once

#include <string>
#include <string_view>

#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// Returns a row as a line of JSON without a newline. Reading it restores every bit of the row.
std::string to_json_line(const CandidateRow& row);
// Parses a line that to_json_line() wrote, and returns its row. Throws trace::TraceError if it is
// not a valid row.
CandidateRow row_of_json(std::string_view line);

}  // namespace pipewright::analysis
