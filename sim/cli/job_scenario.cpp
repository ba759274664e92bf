#include "sim/cli/job_scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/fitting_clusters.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::cli {
bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

namespace {

const config::Value* value_in(const config::Value& tree, const std::string& key) {
  const std::size_t dot = key.find('.');
  const config::Value* const value = config::find(tree, key.substr(0, dot));
  if (dot == std::string::npos || value == nullptr) return value;
  // A model that is given by name has all keys, so any of its keys counts as set.
  if (value->kind == config::Value::Kind::text) return value;
  return value->kind == config::Value::Kind::map ? value_in(*value, key.substr(dot + 1)) : nullptr;
}

// Error that says which key of a scenario is missing and which option sets it.
config::Error missing_key(const std::string& key) {
  const auto unknown = [&](std::string_view subject, std::string_view option) {
    return config::Error({}, fmt::format("{} is unknown", subject), key)
        .suggest(fmt::format("give {}", option));
  };
  if (key == "parallel.dp") return unknown("the number of GPUs", "--dp, or --set parallel.dp=N");
  if (key == "model.vocabulary")
    return unknown("the size of the vocabulary", "--set model.vocabulary=N");
  if (key == "model") return unknown("the model", "--model X");
  if (key == "global_batch") return unknown("the global batch", "--global-batch N");
  return unknown(fmt::format("the key {}", key), fmt::format("--set {}=N", key));
}

}  // namespace

std::optional<std::string> scenario_of_library(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored) || !config::is_library_name(word, ".yaml"))
    return std::nullopt;
  const std::vector<std::string> names = config::library_names("scenarios", ".yaml");
  if (!std::ranges::binary_search(names, word)) return std::nullopt;
  return config::library_file("scenarios", word, ".yaml").string();
}

JobFiles job_files(const std::vector<std::string>& words) {
  JobFiles job;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (is_variable(word) && !std::filesystem::exists(word, ignored))
      job.words.variables.emplace_back(word.substr(0, word.find('=')),
                                       word.substr(word.find('=') + 1));
    else
      job.files.push_back(scenario_of_library(word).value_or(word));
  }
  return job;
}

bool is_job(const JobFiles& files) {
  return std::ranges::any_of(files.files, [](const std::string& file) {
    std::error_code ignored;
    return file != "-" && std::filesystem::is_regular_file(file, ignored) &&
           jobs::recognise(file) != nullptr;
  });
}

std::optional<jobs::Job> read_job(const JobFiles& files) {
  if (!is_job(files)) return std::nullopt;
  return jobs::import_job(files.files, files.words);
}

std::string job_report(const jobs::Job& job) {
  std::string text;
  for (const std::string& assumption : job.assumed)
    text += fmt::format("assumed: {}\n", assumption);
  for (const std::string& key : job.missing)
    text += fmt::format("{}\n", missing_key(key).message());
  for (const jobs::Note& note : job.not_modelled)
    text += fmt::format("not modelled: {}\n", jobs::not_modelled_text(note));
  text += fmt::format("{}\n", jobs::summary_of(job));
  return text;
}

void set_key_of_job(config::Value& tree, std::string_view key, config::Value value) {
  // The job's samples keep their length with another model.
  if (key == "model" && value.kind == config::Value::Kind::text)
    if (const config::Value* const sequence = config::value_at(tree, "model.sequence");
        sequence != nullptr && config::value_at(tree, "training.sequence") == nullptr)
      config::set_value(tree, "training.sequence", config::Value(*sequence));
  config::Value* const stack = key == "stack" ? config::find(tree, key) : nullptr;
  config::Value* const like = stack == nullptr ? nullptr : config::find(*stack, "like");
  if (like != nullptr && value.kind == config::Value::Kind::text)
    *like = std::move(value);
  else
    config::set_key(tree, key, std::move(value));
}

void print_settings(const jobs::Job& job) {
  fmt::print(stderr, "pipewright: {}\n", jobs::summary_of(job));
  for (const jobs::Note& note : job.not_modelled)
    fmt::print(stderr, "pipewright: not modelled: {}\n", jobs::not_modelled_text(note));
}

void check_job(const jobs::Job& job, const config::Value& tree) {
  for (const std::string& key : job.missing)
    if (value_in(tree, key) == nullptr &&
        (key != "parallel.dp" || !value_in(tree, "parallel.shard")))
      if (key != "global_batch" || value_in(tree, "microbatches") == nullptr)
        throw missing_key(key).within({}, job.name);
  jobs::check_layout(job, tree);
  if (value_in(tree, "cluster") != nullptr || value_in(tree, "gpu") != nullptr) return;
  throw config::Error(fmt::format("{}: the cluster is unknown", job.name))
      .suggest(fmt::format("give --cluster X, {}", fitting_clusters(job.gpu, gpus_of(tree))));
}

}  // namespace pipewright::cli
