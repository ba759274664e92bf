#pragma once

#include <ostream>
#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// The functions of nlohmann's library that convert axes and rules to JSON. The page also uses them.
void to_json(Json& json, const SearchAxis& axis);
void to_json(Json& json, const Excluded& excluded);

// Returns a candidate with its values and figures. Keys name their units; unknown figures are
// omitted.
Json candidate_json(const SearchRun& run, const CandidateRow& row);

// Returns the differences of a candidate from a better one, with seconds for the same work.
Json loss_json(const SearchRun& run, const Comparison& lost);

// Returns a line for each figure of a candidate, with its key and its definition.
std::string figures_help();

// Writes a row for each candidate, quoted as RFC 4180 requires. Headings name units; unknown
// figures are empty.
void write_search_csv(std::ostream& stream, const SearchRun& run);

// Writes an object with the members of the run, its findings and the keys of `more`. Keys name
// their units; unknown figures of candidates are omitted.
void write_search_json(std::ostream& stream, const SearchRun& run, const Json& more = {});

}  // namespace pipewright::analysis
