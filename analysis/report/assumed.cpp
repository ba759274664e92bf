#include "analysis/report/assumed.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {

bool times_rest_on(const trace::Assumed& assumed) {
  return std::ranges::any_of(assumed.keys,
                             [](const std::string& key) { return key != free_memory_key; });
}

bool capacity_rests_on(const trace::Assumed& assumed) {
  return std::ranges::count(assumed.keys, free_memory_key) > 0;
}

std::string_view time_mark(const trace::Assumed& assumed) {
  return times_rest_on(assumed) ? assumed_mark : "";
}

void add_assumed(nlohmann::ordered_json& object, const trace::Assumed& assumed) {
  object[trace::assumed_field] = assumed.keys;
  object[trace::assumed_gpu_field] = assumed.gpu;
}

std::string assumed_lines(const std::vector<trace::Assumed>& all) {
  std::vector<trace::Assumed> files;
  for (const trace::Assumed& one : all) {
    if (one.keys.empty()) continue;
    auto file = std::ranges::find(files, one.gpu, &trace::Assumed::gpu);
    if (file == files.end()) file = files.insert(files.end(), {one.gpu, {}});
    for (const std::string& key : one.keys)
      if (std::ranges::find(file->keys, key) == file->keys.end()) file->keys.push_back(key);
  }
  std::string text;
  for (const trace::Assumed& file : files)
    text += fmt::format(assumed_words, printable(file.gpu),
                        printable(fmt::format("{}", fmt::join(file.keys, ", ")))) +
            '\n';
  return text;
}

}  // namespace pipewright::analysis
