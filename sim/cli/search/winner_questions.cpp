#include "sim/cli/search/winner_questions.hpp"

#include <algorithm>

#include "analysis/report/search/findings.hpp"
#include "sim/search/best_known.hpp"
#include "sim/search/more_memory.hpp"
#include "sim/search/why_not.hpp"

namespace pipewright::cli {
namespace {

analysis::Robustness sureness(const search::RobustSettings& settings, analysis::SearchRun& run,
                              const WinnerMeans& means) {
  search::know_best(run, means.space, settings.top, means.workers, means.options, means.calls);
  const std::optional<std::size_t> best = analysis::find(run).best;
  if (!best) return {.settings = settings.draws};
  const std::uint64_t layout = run.rows[*best].candidate / means.space.schedules();
  const std::string& gpu = means.options.facts.at(means.space.cluster(layout)).gpu;
  analysis::Robustness robust = search::robustness(run, means.space, settings, means.trials, gpu);
  robust.top = settings.top;
  if (!settings.turns) return robust;
  search::SearchOptions options = means.options;
  options.aim.front = true;
  if (auto turn = search::more_memory(run, means.sweep, means.workers, options, means.calls))
    robust.turns.push_back(*turn);
  else
    robust.steady.emplace_back("twice the memory");
  return robust;
}

}  // namespace

void add_winner_options(po::options_description& options) {
  auto add = options.add_options();
  add("why-not", several_words("CONDITION..")->composing(),
      "the best of those that meet a constraint, as 'tp == 8', and where it loses how much");
  add("robust",
      "how sure the winner is: the best under jitter, a slow GPU, another network and the model's "
      "own error, and what would change the winner");
  add("under", several_words("WORD..")->composing(),
      "likewise under other conditions: draws=64 network=30%, as below");
  add("costs", several_words("WORD..")->composing(),
      "the cheapest on each cluster: tokens=300B deadline=30d, price=2.5 of a GPU-hour, or "
      "CLUSTER=2.5 for each");
}

WinnerQuestions read_winner_questions(const po::variables_map& given) {
  WinnerQuestions questions{.why_not = values(given, "why-not"), .robust = {}, .costs = {}};
  const std::vector<std::string> words = values(given, "under");
  if (given.count("robust") != 0 || !words.empty())
    questions.robust = search::read_robust_settings(words, "--under");
  if (given.count("costs") != 0)
    questions.costs = search::read_cost_question(values(given, "costs"), "--costs");
  return questions;
}

std::string winner_help() {
  return "\nwords of --under, as in --under draws=64 network=30%:\n" +
         search::robust_settings_help();
}

WinnerParts parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                     const std::vector<search::ClusterFacts>& facts) {
  WinnerParts parts;
  for (const std::string& condition : questions.why_not)
    parts.why_not.push_back(search::narrowed(sweep, facts, condition, "--why-not"));
  if (questions.costs) parts.costs = search::cost_parts(*questions.costs, sweep, facts, "--costs");
  return parts;
}

WinnerAnswers answer(const WinnerQuestions& questions, analysis::SearchRun& run,
                     const WinnerMeans& means) {
  WinnerAnswers answers;
  for (std::size_t i = 0; i < means.parts.why_not.size(); ++i)
    answers.why_not.push_back(search::why_not(run, means.parts.why_not[i], questions.why_not[i],
                                              means.workers, means.options, means.calls));
  answers.costs =
      search::cluster_costs(run, means.parts.costs, means.workers, means.options, means.calls);
  if (questions.robust) answers.robust = sureness(*questions.robust, run, means);
  return answers;
}

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  std::string text;
  for (const analysis::WhyNot& one : answers.why_not)
    text += "\n" + analysis::why_not_text(run, one);
  if (!answers.costs.empty()) text += "\n" + analysis::cluster_costs_text(answers.costs);
  if (answers.robust) text += "\n" + analysis::robustness_text(run, *answers.robust);
  return text;
}

analysis::WinnerWords winner_words(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::WinnerWords words{.text = winner_text(run, answers), .bands = {}};
  if (!answers.robust) return words;
  const std::vector<analysis::RobustStanding> all = analysis::standings(run, *answers.robust);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = answers.robust->rows[i].row;
    const double planned = run.rows[row].time_s;
    if (all[i].seconds.least > 0)
      words.bands.push_back({row, all[i].seconds.least / planned, all[i].seconds.most / planned});
  }
  return words;
}

analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::Json json = analysis::Json::object();
  for (const analysis::WhyNot& one : answers.why_not)
    json["why_not"].push_back(analysis::why_not_json(run, one));
  if (!answers.costs.empty()) json["costs"] = analysis::cluster_costs_json(answers.costs);
  if (answers.robust) json["robust"] = analysis::robustness_json(run, *answers.robust);
  return json;
}

}  // namespace pipewright::cli
