#include "analysis/report/assumed.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

// Returns one element for each GPU's file. It lists, in order of appearance, the keys that any of
// the runs uses and that are assumed.
std::vector<trace::Assumed> assumed_by_file(const std::vector<trace::Assumed>& runs) {
  std::vector<trace::Assumed> files;
  for (const trace::Assumed& run : runs) {
    if (run.keys.empty()) continue;
    auto file = std::ranges::find(files, run.gpu, &trace::Assumed::gpu);
    if (file == files.end()) file = files.insert(files.end(), {run.gpu, {}});
    for (const std::string& key : run.keys)
      if (std::ranges::find(file->keys, key) == file->keys.end()) file->keys.push_back(key);
  }
  return files;
}

}  // namespace

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

std::string assumed_lines(const std::vector<trace::Assumed>& runs) {
  std::string text;
  for (const trace::Assumed& file : assumed_by_file(runs))
    text += fmt::format(assumed_words, printable(file.gpu),
                        printable(fmt::format("{}", fmt::join(file.keys, ", ")))) +
            '\n';
  return text;
}

std::string assumed_note(const std::vector<trace::Assumed>& runs) {
  std::string text;
  for (const trace::Assumed& file : assumed_by_file(runs)) {
    const std::span<const std::string> keys(file.keys);
    const std::string names =
        keys.size() == 1
            ? keys.front()
            : fmt::format("{} and {}", fmt::join(keys.first(keys.size() - 1), ", "), keys.back());
    text += fmt::format("{}{}: {} {} assumed, not sourced", text.empty() ? "" : "; ",
                        printable(file.gpu), printable(names), keys.size() == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace pipewright::analysis
