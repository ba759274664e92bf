#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/cluster_costs.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/why_not.hpp"
#include "analysis/web/search/search_page.hpp"
#include "sim/cli/options.hpp"
#include "sim/search/cluster_costs.hpp"
#include "sim/search/robust.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// What a person asks about the winner of a search.
struct WinnerQuestions {
  std::vector<std::string> why_not;  // conditions
  std::optional<search::RobustSettings> robust;

  std::optional<search::CostQuestion> costs;

  bool any() const { return !why_not.empty() || robust || costs; }
};

struct WinnerAnswers {
  std::vector<analysis::WhyNot> why_not;
  std::optional<analysis::Robustness> robust;
  std::vector<analysis::ClusterCost> costs;
};

void add_winner_options(po::options_description& options);
WinnerQuestions read_winner_questions(const po::variables_map& given);
std::string winner_help();  // of the words of --under

// The parts of the sweep that the questions are about, read before there is a winner so that what
// is wrong with them is said at once. Throws config::Error.
struct WinnerParts {
  std::vector<search::Space> why_not;
  std::vector<search::Space> costs;
};
WinnerParts parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                     const std::vector<search::ClusterFacts>& facts);

// Who answers: workers that search, and who simulates candidates under other conditions.
struct WinnerMeans {
  const config::Value& sweep;
  const search::Space& space;
  const WinnerParts& parts;
  search::Workers& workers;
  search::Trials trials;
  search::SearchOptions options;
  search::SearchCalls calls;
};
// Candidates that are simulated for an answer have their figures in the run, too.
WinnerAnswers answer(const WinnerQuestions& questions, analysis::SearchRun& run,
                     const WinnerMeans& means);

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers);
analysis::WinnerWords winner_words(const analysis::SearchRun& run, const WinnerAnswers& answers);
// Keys beside those of the search.
analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers);

}  // namespace pipewright::cli
