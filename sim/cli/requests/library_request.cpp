#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/job/planned_launch.hpp"
#include "sim/cli/job_scenario.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/tree_json.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {
namespace {

Json json_of(const std::vector<jobs::Note>& notes) {
  Json list = Json::array();
  for (const jobs::Note& note : notes)
    list.push_back({{"text", note.text},
                    {"changes", jobs::name_of(note.changes)},
                    {"why", note.why},
                    {"file", note.origin.source},
                    {"line", note.origin.line}});
  return list;
}

const jobs::Framework& framework_of(std::string_view name) {
  const jobs::Framework* const framework = jobs::find_writable_framework(name);
  if (framework == nullptr)
    throw config::Error(fmt::format("there is no framework '{}'", name))
        .allow(jobs::writable_frameworks());
  return *framework;
}

}  // namespace

Json answer_import(Message& request, const Connection&) {
  JobFiles files = job_files(request.json.at("words").get<std::vector<std::string>>());
  if (request.json.contains("gpus")) files.words.gpus = request.json["gpus"].get<std::uint64_t>();
  files.words.with_bash = request.json.value("run_with_bash", false);
  const jobs::Job job = jobs::import_job(files.files, files.words);
  return {{"framework", job.framework},
          {"name", job.name},
          {"scenario", config::tree_to_json(job.tree)},
          {"yaml", jobs::commented_yaml(job)},
          {"sources", job.comments},
          {"summary", jobs::summary_of(job)},
          {"used", job.used},
          {"without_effect", json_of(job.without_effect)},
          {"not_modelled", json_of(job.not_modelled)},
          {"assumed", job.assumed},
          {"missing", job.missing},
          {"gpu", job.gpu}};
}

Json answer_export(Message& request, const Connection&) {
  const config::Scenario scenario =
      config::read_scenario(config::tree_from_json(request.json.at("scenario")));
  const jobs::Framework& framework = framework_of(request.json.at("framework").get<std::string>());
  const jobs::Launch launch = jobs::export_job(scenario, framework, *planned_launch(scenario));
  return {{"text", launch.text},
          {"extension", launch.extension},
          {"differs", jobs::sentences_of(launch.differs)},
          {"refused", launch.refused},
          {"beside_name", launch.beside_name},
          {"beside", launch.beside}};
}

Json answer_library(Message& request, const Connection&) {
  return {{"names", config::library_names(request.json.at("of").get<std::string>(),
                                          request.json.at("extension").get<std::string>())}};
}

}  // namespace pipewright::cli
