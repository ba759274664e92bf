#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/differences.hpp"
#include "sim/jobs/request/launch_text.hpp"

namespace pipewright::jobs::megatron {

Written write(const config::Scenario& scenario, const config::LaunchPlan& plan, bool arguments) {
  SettingsWriter writer(scenario, plan, arguments);
  write_flags(flags(), spelled_out(scenario), writer);
  return {std::move(writer.settings), std::move(writer.reasons)};
}

Unexpressed unexpressed(const LaunchInput& input, const Written& written, Dialect dialect) {
  const config::Scenario& scenario = input.scenario;
  std::vector<Difference> reasons = written.reasons;
  Request request{.dialect = dialect,
                  .name = scenario.model->value.name.empty() ? "job" : scenario.model->value.name,
                  .settings = written.settings,
                  .gpus = gpus_of(scenario),
                  .gpus_from = "the scenario"};
  for (Setting& setting : request.settings) setting.written = words_of(setting);
  // A script sets the threads of the CPU by a variable (script.cpp).
  if (const auto& offload = scenario.training.optimizer.offload;
      offload && offload->threads && dialect == Dialect::megatron)
    request.settings.push_back(
        {.name = "omp_num_threads", .values = {fmt::format("{}", *offload->threads)}});
  std::vector<Difference> differences;
  std::string refused;
  try {
    Job job = read(request);
    if (dialect == Dialect::megatron) check_layout(job.tree);
    for (const Note& note : job.not_modelled)
      reasons.push_back({"", fmt::format("{}: {}", note.text, note.why)});
    differences = jobs::differences(input, std::move(job));
  } catch (const config::Error& refusal) {
    refused = refusal.what();
  }
  return {stated_differences(std::move(reasons), differences), refusal_of(input, refused)};
}

}  // namespace pipewright::jobs::megatron
