#include "sim/cli/search/winner_questions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "sim/search/best_known.hpp"
#include "sim/search/more_memory.hpp"
#include "sim/search/perturbations.hpp"
#include "sim/search/why_not.hpp"

namespace pipewright::cli {
namespace {

// Names of the questions of --robust. The setting `turns` adds the second and the last. Those that
// can use any time come last, since they get the time that the questions before them leave.
constexpr const char* next_name = "the candidates next to the best";
constexpr const char* memory_name = "the winner with twice the memory";
constexpr const char* draws_name = "draws of conditions";
constexpr const char* turns_name = "bandwidths and latencies at which another candidate wins";

// Winner with more memory, or the reason why it is not known.
struct MoreMemory {
  std::optional<analysis::Perturbation> winner;
  bool is_cut = false;
};

MoreMemory examine_more_memory(const analysis::SearchRun& run, const WinnerContext& context) {
  search::SearchOptions options = context.options;
  options.target.front = true;
  const std::size_t cut_before = context.time.cut_short().size();
  MoreMemory memory{
      search::more_memory(run, context.sweep, context.workers, options, context.calls)};
  memory.is_cut = context.time.cut_short().size() > cut_before;
  return memory;
}

void add_more_memory(const MoreMemory& memory, analysis::Robustness& robust) {
  if (memory.winner)
    robust.perturbations.push_back(*memory.winner);
  else if (memory.is_cut)
    robust.turns_are_cut = true;
  else
    robust.without_effect.emplace_back("twice the memory");
}

analysis::Robustness robustness_of_winner(const search::RobustSettings& settings,
                                          analysis::SearchRun& run, const WinnerContext& context) {
  search::TimeShares& time = context.time;
  const auto is_over = [&] { return time.is_over(); };
  MoreMemory memory;
  if (settings.turns) {
    time.begin_next();
    memory = examine_more_memory(run, context);
  }
  time.begin_next();
  analysis::Robustness robust =
      search::robustness(run, context.space, settings, context.what_if_runs, is_over);
  if (!settings.turns) return robust;
  time.begin_next();
  search::add_perturbations(run, context.what_if_runs, is_over, robust);
  if (!robust.rows.empty()) add_more_memory(memory, robust);
  return robust;
}

// Tells which questions the budget cut short, or an interrupt left unanswered.
std::vector<analysis::AnswerReport> gaps_of(const WinnerAnswers& answers) {
  std::vector<analysis::AnswerReport> reports;
  if (!answers.cut_short.empty()) {
    analysis::AnswerReport& report = reports.emplace_back();
    report.add_heading("cut short by the budget");
    for (const std::string& name : answers.cut_short) report.add_long_item(name);
  }
  if (!answers.unanswered.empty()) {
    analysis::AnswerReport& report = reports.emplace_back();
    report.add_heading("interrupted");
    report.add_sentence(
        fmt::format("the best above is the best so far{}; no answer to:",
                    answers.asks_decision ? ", and the decision was not made" : ""));
    for (const std::string& name : answers.unanswered) report.add_long_item(name);
    for (const std::string& sentence : answers.continuation) report.add_sentence(sentence);
  }
  return reports;
}

// Returns whether the decision contains the costs: there is one cluster, and its cheapest candidate
// is the best.
bool has_costs(const WinnerAnswers& answers) {
  if (!answers.decision || !answers.decision->cost || answers.costs.size() != 1) return false;
  const std::optional<analysis::CandidateRow>& cheapest = answers.costs.front().row;
  return cheapest && cheapest->candidate == answers.decision->cost->row->candidate;
}

std::vector<analysis::AnswerReport> winner_reports(const analysis::SearchRun& run,
                                                   const WinnerAnswers& answers) {
  std::vector<analysis::AnswerReport> reports;
  for (const analysis::WhyNot& why_not : answers.why_not)
    reports.push_back(analysis::why_not_answer(run, why_not));
  if (!answers.costs.empty() && !has_costs(answers))
    reports.push_back(analysis::cluster_costs_answer(answers.costs));
  if (answers.robust) reports.push_back(analysis::robustness_answer(run, *answers.robust));
  for (analysis::AnswerReport& report : gaps_of(answers)) reports.push_back(std::move(report));
  return reports;
}

}  // namespace

void add_winner_options(po::options_description& options) {
  auto add = options.add_options();
  add("why-not", several_words("CONDITION..")->composing(),
      "show the best candidate that meets a constraint such as 'tp == 8', and where it loses time");
  add("robust",
      "show how certain the winner is: the best candidates under jitter, a slow GPU, another "
      "network and the error of predictions, and what would change the winner");
  add("under", several_words("WORD..")->composing(),
      "settings of --robust, such as draws=64 network=30% (see below)");
  add("costs", several_words("WORD..")->composing(),
      "show the cheapest candidate on each cluster: tokens=300B deadline=30d price=2.5 (of a "
      "GPU-hour), or CLUSTER=2.5 for each cluster; without a price, days and energy of the "
      "fastest");
  add("decide",
      "show all that a decision needs: the best, ties and what would change it (as --robust), "
      "days, "
      "price and energy (with --costs), the same with failures, and the launch");
}

WinnerQuestions read_winner_questions(const po::variables_map& options) {
  WinnerQuestions questions{
      .why_not = values(options, "why-not"), .robust = {}, .costs = {}, .decision = false};
  const std::vector<std::string> words = values(options, "under");
  questions.decision = options.count("decide") != 0;
  if (options.count("robust") != 0 || questions.decision || !words.empty())
    questions.robust = search::read_robust_settings(words, "--under");
  if (options.count("costs") != 0)
    questions.costs = search::read_cost_question(values(options, "costs"), "--costs");
  return questions;
}

std::string winner_help() {
  return "\nsettings of --under, as in --under draws=64 network=30%:\n" +
         search::robust_settings_help();
}

WinnerParts parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                     const std::vector<search::ClusterFacts>& facts) {
  WinnerParts parts;
  for (const std::string& condition : questions.why_not)
    parts.why_not.push_back(search::part_with_constraint(sweep, facts, condition, "--why-not"));
  if (questions.costs) parts.costs = search::cost_parts(*questions.costs, sweep, facts, "--costs");
  return parts;
}

void find_next_to_best(const WinnerQuestions& questions, analysis::SearchRun& run,
                       const WinnerContext& context) {
  if (!questions.robust) return;
  context.time.begin_next();
  search::prove_best(run, context.space, questions.robust->top, context.workers, context.options,
                     context.calls);
}

WinnerAnswers answer(const WinnerQuestions& questions, analysis::SearchRun& run,
                     const WinnerContext& context) {
  WinnerAnswers answers;
  search::TimeShares& time = context.time;
  for (std::size_t i = 0; i < context.parts.why_not.size(); ++i) {
    time.begin_next();
    analysis::WhyNot why_not = search::why_not(run, context.parts.why_not[i], questions.why_not[i],
                                               context.workers, context.options, context.calls);
    if (time.is_interrupted()) return answers;
    answers.why_not.push_back(std::move(why_not));
  }
  for (std::size_t i = 0; i < context.parts.costs.size(); ++i) {
    time.begin_next();
    analysis::ClusterCost cost = search::cluster_cost(run, context.parts.costs, i, context.workers,
                                                      context.options, context.calls);
    if (time.is_interrupted()) return answers;
    answers.costs.push_back(std::move(cost));
  }
  if (!questions.robust) return answers;
  analysis::Robustness robust = robustness_of_winner(*questions.robust, run, context);
  if (!time.is_interrupted()) answers.robust = std::move(robust);
  return answers;
}

std::vector<std::string> names_of(const WinnerQuestions& questions, const WinnerParts& parts) {
  std::vector<std::string> names;
  if (questions.robust) names.emplace_back(next_name);
  if (questions.decision) names.emplace_back("weeks with failures");
  for (const std::string& condition : questions.why_not) names.push_back("why not " + condition);
  for (std::size_t i = 0; i < parts.costs.size(); ++i)
    names.push_back("cost on " + search::cluster_of_part(parts.costs, i));
  if (!questions.robust) return names;
  if (questions.robust->turns) names.emplace_back(memory_name);
  names.emplace_back(draws_name);
  if (questions.robust->turns) names.emplace_back(turns_name);
  return names;
}

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  std::string text;
  for (const analysis::AnswerReport& report : winner_reports(run, answers))
    text += "\n" + report.text();
  if (answers.decision)
    text += "\n" + analysis::decision_answer(run, *answers.decision, answers.robust.value()).text();
  return text;
}

analysis::WinnerWords winner_words(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::WinnerWords words{
      .answers = winner_reports(run, answers), .bands = {}, .decision = std::nullopt};
  if (answers.decision)
    words.decision = analysis::decision_on_page(run, *answers.decision, answers.robust.value());
  if (!answers.robust) return words;
  const std::vector<analysis::RobustStanding> standings = analysis::standings(run, *answers.robust);
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const std::size_t row = answers.robust->rows[i].row;
    const double planned = run.rows[row].time_s;
    if (standings[i].seconds.least > 0)
      words.bands.push_back(
          {row, standings[i].seconds.least / planned, standings[i].seconds.most / planned});
  }
  return words;
}

analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::Json json = analysis::Json::object();
  for (const analysis::WhyNot& why_not : answers.why_not)
    json["why_not"].push_back(analysis::why_not_json(run, why_not));
  if (!answers.costs.empty()) json["costs"] = analysis::cluster_costs_json(answers.costs);
  if (answers.robust) json["robust"] = analysis::robustness_json(run, *answers.robust);
  if (!answers.cut_short.empty()) json["cut_short"] = answers.cut_short;
  if (!answers.unanswered.empty()) json["unanswered"] = answers.unanswered;
  if (answers.decision)
    json["decision"] = analysis::decision_json(run, *answers.decision, answers.robust.value());
  return json;
}

}  // namespace pipewright::cli
