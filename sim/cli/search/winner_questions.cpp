#include "sim/cli/search/winner_questions.hpp"

#include <algorithm>

#include "analysis/report/search/findings.hpp"
#include "sim/search/best_known.hpp"
#include "sim/search/more_memory.hpp"
#include "sim/search/why_not.hpp"

namespace pipewright::cli {
namespace {

analysis::Robustness robustness_of_winner(const search::RobustSettings& settings,
                                          analysis::SearchRun& run, const WinnerContext& context) {
  search::prove_best(run, context.space, settings.top, context.workers, context.options,
                     context.calls);
  const std::optional<std::size_t> best = analysis::find(run).best;
  if (!best) return {.settings = settings.draws};
  analysis::Robustness robust =
      search::robustness(run, context.space, settings, context.what_if_runs);
  robust.top = settings.top;
  if (!settings.turns) return robust;
  search::SearchOptions options = context.options;
  options.target.front = true;
  if (auto perturbation =
          search::more_memory(run, context.sweep, context.workers, options, context.calls))
    robust.perturbations.push_back(*perturbation);
  else
    robust.without_effect.emplace_back("twice the memory");
  return robust;
}

std::vector<analysis::AnswerReport> winner_reports(const analysis::SearchRun& run,
                                                   const WinnerAnswers& answers) {
  std::vector<analysis::AnswerReport> reports;
  for (const analysis::WhyNot& why_not : answers.why_not)
    reports.push_back(analysis::why_not_answer(run, why_not));
  if (!answers.costs.empty()) reports.push_back(analysis::cluster_costs_answer(answers.costs));
  if (answers.robust) reports.push_back(analysis::robustness_answer(run, *answers.robust));
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
      "GPU-hour), or CLUSTER=2.5 for each cluster");
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

WinnerAnswers answer(const WinnerQuestions& questions, analysis::SearchRun& run,
                     const WinnerContext& context) {
  WinnerAnswers answers;
  for (std::size_t i = 0; i < context.parts.why_not.size(); ++i)
    answers.why_not.push_back(search::why_not(run, context.parts.why_not[i], questions.why_not[i],
                                              context.workers, context.options, context.calls));
  answers.costs = search::cluster_costs(run, context.parts.costs, context.workers, context.options,
                                        context.calls);
  if (questions.robust) answers.robust = robustness_of_winner(*questions.robust, run, context);
  return answers;
}

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  std::string text;
  for (const analysis::AnswerReport& report : winner_reports(run, answers))
    text += "\n" + report.text();
  if (answers.decision)
    text += "\n" +
            analysis::decision_answer(run, *answers.decision, answers.robust.value(), false).text();
  return text;
}

analysis::WinnerWords winner_words(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::WinnerWords words{
      .answers = winner_reports(run, answers), .bands = {}, .decision = std::nullopt};
  if (answers.decision)
    words.decision =
        analysis::decision_answer(run, *answers.decision, answers.robust.value(), true);
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
  if (answers.decision)
    json["decision"] = analysis::decision_json(run, *answers.decision, answers.robust.value());
  return json;
}

}  // namespace pipewright::cli
