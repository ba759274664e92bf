#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/cluster_costs.hpp"
#include "analysis/report/search/decision.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/why_not.hpp"
#include "analysis/web/search/search_page.hpp"
#include "sim/cli/options.hpp"
#include "sim/search/cluster_costs.hpp"
#include "sim/search/robust.hpp"
#include "sim/search/search.hpp"
#include "sim/search/time_shares.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// Questions about the winner of a search.
struct WinnerQuestions {
  std::vector<std::string> why_not;  // conditions
  std::optional<search::RobustSettings> robust;

  std::optional<search::CostQuestion> costs;
  bool decision = false;  // needs `robust`

  bool any() const { return !why_not.empty() || robust || costs; }
};

// Share of --budget for the search, if there are questions. They share the rest, and what the
// search leaves.
inline constexpr double search_share = 0.5;

struct WinnerAnswers {
  std::vector<analysis::WhyNot> why_not;
  std::optional<analysis::Robustness> robust;
  std::vector<analysis::ClusterCost> costs;
  std::optional<analysis::Decision> decision;
  bool asks_decision = false;
  std::vector<std::string> cut_short;   // questions whose time was spent before they were answered
  std::vector<std::string> unanswered;  // questions that an interrupt left without an answer
  std::vector<std::string> continuation;  // sentences that tell how to get these answers
};

void add_winner_options(po::options_description& options);
WinnerQuestions read_winner_questions(const po::variables_map& options);
std::string winner_help();  // help text of the words of --under

// Spaces of the candidates that each question is about: those that meet a condition of --why-not,
// or those on one cluster. They are made before the search, so that errors in the questions are
// reported at once. Throws config::Error.
struct WinnerParts {
  std::vector<search::Space> why_not;
  std::vector<search::Space> costs;
};
WinnerParts parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                     const std::vector<search::ClusterFacts>& facts);

// Names of the questions in the order in which find_next_to_best(), decide() and answer() answer
// them.
std::vector<std::string> names_of(const WinnerQuestions& questions, const WinnerParts& parts);

// Inputs for answering the questions: the sweep, its spaces, the workers that simulate candidates,
// and the time that the questions share.
struct WinnerContext {
  const config::Value& sweep;
  const search::Space& space;
  const WinnerParts& parts;
  search::Workers& workers;
  search::WhatIfRuns what_if_runs;
  search::SearchOptions options;
  search::SearchCalls calls;  // `interrupted` is that of the time shares
  search::TimeShares& time;
};
// Simulates the candidates next to the best, which the questions of --robust compare with it. The
// best among equals may be another one afterwards.
void find_next_to_best(const WinnerQuestions& questions, analysis::SearchRun& run,
                       const WinnerContext& context);
// Answers the questions until an interrupt. Adds the figures of the candidates that it simulates to
// the run.
WinnerAnswers answer(const WinnerQuestions& questions, analysis::SearchRun& run,
                     const WinnerContext& context);

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers);
analysis::WinnerWords winner_words(const analysis::SearchRun& run, const WinnerAnswers& answers);
// The keys that answers add to the JSON of a search.
analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers);

}  // namespace pipewright::cli
