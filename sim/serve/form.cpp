#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/jobs/job.hpp"
#include "sim/serve/questions.hpp"

namespace pipewright::serve {
namespace {

using Json = nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::array<std::string_view, 12> type_names{"text",   "flag", "choice",  "count",
                                                      "number", "time", "size",    "rate",
                                                      "path",   "map",  "library", "schedule"};

Json keys_json() {
  Json keys = Json::array();
  for (const config::KeyRow& row : config::scenario_keys()) {
    const config::KeyInfo& info = row.info;
    if (row.name == "output" || row.name == "trace") continue;
    keys.push_back({{"name", row.name},
                    {"help", info.help},
                    {"unit", info.unit},
                    {"default", info.default_value},
                    {"type", type_names.at(static_cast<std::size_t>(row.value.type))},
                    {"list", row.value.list},
                    {"choices", row.value.choices},
                    {"list_choices", row.value.list_choices}});
  }
  return keys;
}

Json schedules_json() {
  Json list = Json::array();
  for (const schedules::Entry& entry : schedules::catalog()) {
    Json takes = Json::array();
    for (const schedules::ChoiceInfo& choice : schedules::choices)
      if (entry.takes(choice.choice)) takes.push_back(choice.key);
    list.push_back({{"name", entry.name}, {"help", entry.help}, {"takes", takes}});
  }
  return list;
}

// Files in a project's folder that a scenario can name, with paths relative to the folder. Each
// list has a limited length.
struct ProjectFiles {
  std::vector<std::string> models;
  std::vector<std::string> clusters;
  std::vector<std::string> scenarios;
};

ProjectFiles project_files(const path& folder) {
  constexpr std::size_t max_visited = 5000;
  constexpr std::size_t max_listed = 200;
  constexpr int max_folder_depth = 4;
  ProjectFiles files;
  std::size_t visited = 0;
  std::error_code failed;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, skip, failed);
       !failed && it != std::filesystem::recursive_directory_iterator(); it.increment(failed)) {
    if (++visited > max_visited) break;
    const path name = it->path().filename();
    const bool is_hidden = name.string().starts_with('.');
    if (is_hidden || it.depth() >= max_folder_depth || name.string().starts_with("build"))
      it.disable_recursion_pending();
    std::error_code ignored;
    if (is_hidden || !it->is_regular_file(ignored)) continue;
    // The leading "./" marks the text as a path; a bare name would be looked up in the library of
    // models and clusters.
    std::string relative = "./" + it->path().lexically_relative(folder).string();
    auto* const list = name == "config.json"         ? &files.models
                       : name.extension() == ".xml"  ? &files.clusters
                       : name.extension() == ".yaml" ? &files.scenarios
                                                     : nullptr;
    if (list != nullptr && list->size() < max_listed) list->push_back(std::move(relative));
  }
  for (auto* const list : {&files.models, &files.clusters, &files.scenarios})
    std::ranges::sort(*list);
  return files;
}

}  // namespace

std::string form_json(const Workspace& workspace) {
  const ProjectFiles files = project_files(workspace.project);
  Json frameworks = Json::array();
  for (const jobs::Framework& framework : jobs::frameworks())
    if (framework.write != nullptr) frameworks.push_back(framework.name);
  const Json form{{"project", workspace.project.string()},
                  {"models", config::library_names("models", ".yaml")},
                  {"clusters", config::library_names("clusters", ".xml")},
                  {"gpus", config::library_names("gpus", ".yaml")},
                  {"stacks", config::library_names("stacks", ".yaml")},
                  {"model_files", files.models},
                  {"cluster_files", files.clusters},
                  {"schedules", schedules_json()},
                  {"frameworks", frameworks},
                  {"keys", keys_json()}};
  return form.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pipewright::serve
