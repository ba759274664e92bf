#pragma once

#include <ostream>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// As the page has them, too.
void to_json(Json& json, const SearchAxis& axis);
void to_json(Json& json, const Excluded& excluded);

// A candidate with its values and figures; keys carry their units, and what is not known is left
// out.
Json candidate_json(const SearchRun& run, const CandidateRow& row);

// What a candidate loses against a better one, seconds for the same work.
Json loss_json(const SearchRun& run, const Comparison& lost);

// A row for each candidate under a header that names units, quoted as RFC 4180 says; what is not
// known is empty.
void write_search_csv(std::ostream& stream, const SearchRun& run);

// One object with all that SearchRun has, and what findings.hpp makes of it. Keys carry their
// units; what is not known of a candidate is left out. `more` is an object whose keys it has too.
void write_search_json(std::ostream& stream, const SearchRun& run, const Json& more = {});

}  // namespace pipewright::analysis
