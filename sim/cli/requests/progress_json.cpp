#include "sim/cli/requests/progress_json.hpp"

#include "analysis/report/search/names.hpp"
#include "analysis/report/search/search_export.hpp"
#include "sim/base/enum_names.hpp"

namespace pipewright::cli {

nlohmann::ordered_json progress_json(const search::State& state, const analysis::SearchRun& run) {
  using Json = nlohmann::ordered_json;
  Json outcomes = Json::object();
  for (std::size_t i = 0; i < state.outcomes.size(); ++i)
    outcomes[analysis::outcome_names.at(i)] = state.outcomes.at(i);
  Json json{{"phase", base::name_of(search::State::phase_names, state.phase)},
            {"candidates", state.total},
            {"assessed", state.assessed},
            {"still_needed", state.still_needed + state.running},
            {"outcomes", outcomes},
            {"best", nullptr}};
  if (!state.best) return json;
  json["best"] = analysis::candidate_json(run, run.rows[*state.best]);
  json["gap"] = state.gap;
  return json;
}

}  // namespace pipewright::cli
