#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/report/goodput/report.hpp"
#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/cluster_costs.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"

// Everything about the best candidate of a search that a decision needs, on one page.
namespace pipewright::analysis {

// Script or configuration that starts the best candidate with the framework of its software stack.
struct DecisionLaunch {
  std::string title;  // of the framework: "Megatron-LM"
  std::string word;   // of the option --launch: "megatron"
  std::string text;
};

struct Decision {
  std::size_t row = 0;              // row of the best candidate
  std::optional<ClusterCost> cost;  // of the best; empty: no number of tokens was given
  // Weeks of training with failures. Empty: they cannot be simulated, for the reason beside it.
  std::optional<GoodputReport> weeks;
  std::string no_weeks_reason;
  bool failures_are_assumed = true;      // the scenario gives neither failures nor a trace of them
  std::optional<DecisionLaunch> launch;  // empty: no framework is known for the stack
};

// Returns the decision for people: the best candidate, ties, changes that make another candidate
// win, days, price and energy without failures, the same with failures, and the launch. A figure
// whose input is missing names the option that gives it. `with_launch` includes the text of the
// launch.
AnswerReport decision_answer(const SearchRun& run, const Decision& decision,
                             const Robustness& robust, bool with_launch);
Json decision_json(const SearchRun& run, const Decision& decision, const Robustness& robust);

}  // namespace pipewright::analysis
