#pragma once

#include <string>
#include <string_view>

#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// One row as a line of JSON, without a newline. Reading it gives the same row, to the last bit.
std::string to_json_line(const CandidateRow& row);
// Throws trace::TraceError for what is no such line.
CandidateRow row_of_json(std::string_view line);

}  // namespace pipewright::analysis
