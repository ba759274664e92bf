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
                    {"choices", row.value.choices}});
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

// Files of a project that scenarios name, from its folder; the first few of each kind.
struct ProjectFiles {
  std::vector<std::string> models;
  std::vector<std::string> clusters;
  std::vector<std::string> scenarios;
};

ProjectFiles files_of(const path& folder) {
  constexpr std::size_t most_looked_at = 5000;
  constexpr std::size_t most = 200;
  constexpr int deepest = 4;
  ProjectFiles found;
  std::size_t looked_at = 0;
  std::error_code failed;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  for (auto at = std::filesystem::recursive_directory_iterator(folder, skip, failed);
       !failed && at != std::filesystem::recursive_directory_iterator(); at.increment(failed)) {
    if (++looked_at > most_looked_at) break;
    const path name = at->path().filename();
    const bool hidden = name.string().starts_with('.');
    if (hidden || at.depth() >= deepest || name.string().starts_with("build"))
      at.disable_recursion_pending();
    std::error_code ignored;
    if (hidden || !at->is_regular_file(ignored)) continue;
    // A path has a slash, or else would be a name of the library.
    std::string inside = "./" + at->path().lexically_relative(folder).string();
    auto* const list = name == "config.json"         ? &found.models
                       : name.extension() == ".xml"  ? &found.clusters
                       : name.extension() == ".yaml" ? &found.scenarios
                                                     : nullptr;
    if (list != nullptr && list->size() < most) list->push_back(std::move(inside));
  }
  for (auto* const list : {&found.models, &found.clusters, &found.scenarios})
    std::ranges::sort(*list);
  return found;
}

}  // namespace

std::string form_json(const Place& place) {
  const ProjectFiles files = files_of(place.project);
  Json frameworks = Json::array();
  for (const jobs::Framework& framework : jobs::frameworks())
    if (framework.write != nullptr) frameworks.push_back(framework.name);
  const Json form{{"project", place.project.string()},
                  {"models", config::library_names("models", ".yaml")},
                  {"clusters", config::library_names("clusters", ".xml")},
                  {"gpus", config::library_names("gpus", ".yaml")},
                  {"model_files", files.models},
                  {"cluster_files", files.clusters},
                  {"schedules", schedules_json()},
                  {"frameworks", frameworks},
                  {"keys", keys_json()}};
  return form.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pipewright::serve
