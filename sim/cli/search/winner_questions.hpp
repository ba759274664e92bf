#pragma once

#include <string>
#include <vector>

#include "analysis/report_table.hpp"
#include "analysis/search/rows.hpp"
#include "analysis/search/why_not.hpp"
#include "sim/cli/options.hpp"
#include "sim/search/search.hpp"
#include "sim/search/space.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::cli {

// What a person asks about the winner of a search.
struct WinnerQuestions {
  std::vector<std::string> why_not;  // conditions

  bool any() const { return !why_not.empty(); }
};

struct WinnerAnswers {
  std::vector<analysis::WhyNot> why_not;
};

void add_winner_options(po::options_description& options);
WinnerQuestions read_winner_questions(const po::variables_map& given);

// The parts of the sweep that the questions are about, read before there is a winner so that what
// is wrong with them is said at once. Throws config::Error.
std::vector<search::Space> parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                                    const std::vector<search::ClusterFacts>& facts);

WinnerAnswers answer(const WinnerQuestions& questions, const std::vector<search::Space>& parts,
                     const analysis::SearchRun& run, search::Workers& workers,
                     const search::SearchOptions& options, const search::SearchCalls& calls);

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers);
// Keys beside those of the search.
analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers);

}  // namespace pipewright::cli
