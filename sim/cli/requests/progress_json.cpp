#include "sim/cli/requests/progress_json.hpp"

#include "analysis/report/search/names.hpp"
#include "analysis/report/search/search_export.hpp"

namespace pipewright::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(search::State::Phase phase) {
  using Phase = search::State::Phase;
  switch (phase) {
    case Phase::assessing:
      return "bounds";
    case Phase::best:
      return "best";
    case Phase::front:
      return "front";
    case Phase::done:
      break;
  }
  return "done";
}

}  // namespace

nlohmann::ordered_json progress_json(const search::State& state, const analysis::SearchRun& run) {
  Json outcomes = Json::object();
  for (std::size_t i = 0; i < state.outcomes.size(); ++i)
    outcomes[analysis::outcome_names.at(i)] = state.outcomes.at(i);
  Json json{{"phase", name_of(state.phase)}, {"candidates", state.total},
            {"assessed", state.assessed},    {"still_needed", state.still_needed + state.running},
            {"outcomes", outcomes},          {"best", nullptr}};
  if (!state.best) return json;
  json["best"] = analysis::candidate_json(run, run.rows[*state.best]);
  json["gap"] = state.gap;
  return json;
}

}  // namespace pipewright::cli
