#include "sim/cli/job/launch.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {

std::vector<LaunchWord> parse_launch(const std::vector<std::string>& words) {
  std::vector<LaunchWord> parsed;
  for (const std::string& word : words) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const jobs::Framework* const framework = jobs::find_writable_framework(word.substr(0, colon));
    if (framework == nullptr)
      throw UsageError(fmt::format(
          "--launch takes FRAMEWORK or FRAMEWORK:FILE, where FRAMEWORK is one of {}, not '{}'",
          jobs::writable_frameworks(), word));
    parsed.push_back(
        {.framework = framework, .file = colon < word.size() ? word.substr(colon + 1) : ""});
  }
  return parsed;
}

config::Scenario with_schedule(const config::Scenario& scenario, std::size_t index) {
  if (scenario.schedules.size() == 1) return scenario;
  config::Value tree = scenario.tree;
  const config::Value schedule = config::find(tree, "schedule")->items.at(index);
  config::set_key(tree, "schedule", schedule);
  return config::read_scenario(tree);
}

bool prints_script(const std::vector<LaunchWord>& words) {
  return std::ranges::any_of(words, [](const LaunchWord& word) { return word.file.empty(); });
}

std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         const config::LaunchPlan& plan) {
  std::string lines;
  for (const LaunchWord& word : words) {
    const jobs::Launch launch = jobs::export_job(scenario, *word.framework, plan);
    if (!launch.refused.empty()) print_notes({launch.refused});
    if (word.file.empty()) {
      lines += (lines.empty() ? "" : "\n") + launch.text;
      if (!launch.beside.empty())
        lines += fmt::format("\n{}:\n{}", launch.beside_name, launch.beside);
      continue;
    }
    trace::write_file(word.file, launch.text);
    lines += fmt::format("wrote   {}\n", word.file);
    if (launch.beside.empty()) continue;
    const std::filesystem::path beside =
        std::filesystem::path(word.file).replace_filename(launch.beside_name);
    trace::write_file(beside, launch.beside);
    lines += fmt::format("wrote   {}\n", beside.string());
  }
  return lines;
}

}  // namespace pipewright::cli
