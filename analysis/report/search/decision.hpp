#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
  // Settings of the layout that the search did not vary: those that the sweep gives, and those that
  // have their defaults.
  std::vector<std::string> given_settings;
  std::vector<std::string> default_settings;
};

// Returns the decision for people: the best candidate, ties, changes that make another candidate
// win, days, price and energy without failures, the same with failures, and the launch. A figure
// whose input is missing names the option that gives it.
AnswerReport decision_answer(const SearchRun& run, const Decision& decision,
                             const Robustness& robust);
// Returns the same for a page, whose head shows the best candidate: without the best, and with the
// text of the launch.
AnswerReport decision_on_page(const SearchRun& run, const Decision& decision,
                              const Robustness& robust);
Json decision_json(const SearchRun& run, const Decision& decision, const Robustness& robust);

}  // namespace pipewright::analysis
