#pragma once

#include <ostream>

#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// A row for each candidate under a header that names units, quoted as RFC 4180 says; what is not
// known is empty.
void write_search_csv(std::ostream& stream, const SearchRun& run);

// One object with all that SearchRun has, and what findings.hpp makes of it. Keys carry their
// units; what is not known of a candidate is left out.
void write_search_json(std::ostream& stream, const SearchRun& run);

}  // namespace pipewright::analysis
