#include "sim/cli/job/launch.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"

namespace pipewright::cli {

using std::filesystem::path;

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

std::vector<path> launch_files(const std::vector<LaunchWord>& words) {
  std::vector<path> files;
  for (const LaunchWord& word : words)
    if (!word.file.empty()) files.emplace_back(word.file);
  return files;
}

std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         std::span<const path> read, const config::LaunchPlan& plan) {
  std::string lines;
  std::vector<std::pair<path, std::string>> files;
  for (const LaunchWord& word : words) {
    const jobs::Launch launch = jobs::export_job(scenario, *word.framework, plan);
    if (!launch.refused.empty()) print_notes({launch.refused});
    if (word.file.empty()) {
      lines += (lines.empty() ? "" : "\n") + launch.text;
      if (!launch.beside.empty())
        lines += fmt::format("\n{}:\n{}", launch.beside_name, launch.beside);
      continue;
    }
    files.emplace_back(word.file, launch.text);
    if (!launch.beside.empty())
      files.emplace_back(path(word.file).replace_filename(launch.beside_name), launch.beside);
  }
  std::vector<path> written;
  for (const auto& [file, text] : files) written.push_back(file);
  check_files(read, written);
  for (const auto& [file, text] : files) {
    trace::write_file(file, text);
    lines += fmt::format("wrote   {}\n", file.string());
  }
  return lines;
}

}  // namespace pipewright::cli
