#include "sim/cli/search/winner_questions.hpp"

#include "sim/search/why_not.hpp"

namespace pipewright::cli {

void add_winner_options(po::options_description& options) {
  auto add = options.add_options();
  add("why-not", several_words("CONDITION..")->composing(),
      "the best of those that meet a constraint, as 'tp == 8', and where it loses how much");
}

WinnerQuestions read_winner_questions(const po::variables_map& given) {
  return {.why_not = values(given, "why-not")};
}

std::vector<search::Space> parts_of(const WinnerQuestions& questions, const config::Value& sweep,
                                    const std::vector<search::ClusterFacts>& facts) {
  std::vector<search::Space> parts;
  for (const std::string& condition : questions.why_not)
    parts.push_back(search::narrowed(sweep, facts, condition, "--why-not"));
  return parts;
}

WinnerAnswers answer(const WinnerQuestions& questions, const std::vector<search::Space>& parts,
                     const analysis::SearchRun& run, search::Workers& workers,
                     const search::SearchOptions& options, const search::SearchCalls& calls) {
  WinnerAnswers answers;
  for (std::size_t i = 0; i < parts.size(); ++i)
    answers.why_not.push_back(
        search::why_not(run, parts[i], questions.why_not[i], workers, options, calls));
  return answers;
}

std::string winner_text(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  std::string text;
  for (const analysis::WhyNot& one : answers.why_not)
    text += "\n" + analysis::why_not_text(run, one);
  return text;
}

analysis::Json winner_json(const analysis::SearchRun& run, const WinnerAnswers& answers) {
  analysis::Json json = analysis::Json::object();
  for (const analysis::WhyNot& one : answers.why_not)
    json["why_not"].push_back(analysis::why_not_json(run, one));
  return json;
}

}  // namespace pipewright::cli
