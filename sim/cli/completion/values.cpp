#include "sim/cli/completion/values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>

#include <fmt/format.h>

#include "analysis/commlogs/operation.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/help/topics.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {
namespace {

using Words = std::vector<Candidate>;

template <class Names>
Words plain(const Names& names) {
  Words words;
  for (const auto& name : names) words.push_back({std::string(name)});
  return words;
}
template <class Table>
Words with_help(const Table& table) {
  Words words;
  for (const auto& row : table) words.push_back({std::string(row.name), std::string(row.help)});
  return words;
}

Words clusters() { return plain(config::library_names("clusters", ".xml")); }
Words models() { return plain(config::library_names("models", ".yaml")); }
Words gpus() { return plain(config::library_names("gpus", ".yaml")); }
Words nodes() { return plain(config::library_names("nodes", ".yaml")); }
Words schedule_names() { return with_help(schedules::catalog()); }
Words operations() { return with_help(analysis::operation_list()); }
Words fabric_names() { return with_help(cluster::fabrics()); }
Words algorithms() { return plain(config::algorithm_names); }
Words ways() { return plain(config::multipath_names); }
Words shells() { return plain(std::array{"bash", "zsh", "fish"}); }
Words no_words() { return {}; }

// Frameworks that launches are written for.
Words frameworks() {
  Words words;
  for (const jobs::Framework& framework : jobs::frameworks())
    if (framework.write != nullptr) words.push_back({std::string(framework.name), ""});
  return words;
}

Words topic_names() {
  Words words;
  for (const Topic& topic : topics())
    words.push_back({std::string(topic.name), question(embedded_page(topic.path))});
  std::ranges::copy(with_help(commands()), std::back_inserter(words));
  return words;
}

// Of several rows that match, the first counts.
struct Row {
  std::string_view name;     // of the option, or of the words without one
  std::string_view command;  // with which the command's name begins
  Words (*words)() = nullptr;
  bool files = false;
};
constexpr std::array rows{
    Row{"cluster", "", clusters, true},
    Row{"model", "", models, true},
    Row{"gpu", "", gpus, true},
    Row{"gpu-file", "gpu", gpus, true},
    Row{"node", "platform", nodes, true},
    Row{"schedule", "", schedule_names, true},
    Row{"op", "comm", operations},
    Row{"fabric", "platform", fabric_names},
    Row{"algorithm", "comm", algorithms},
    Row{"multipath", "", ways},
    Row{"launch", "", frameworks},
    Row{"name", "schedule", schedule_names, true},
    Row{"name", "model", models, true},
    Row{"file", "platform import", no_words, true},
    Row{"file", "platform", clusters, true},
    Row{"topic", "help", topic_names},
    Row{"shell", "completion", shells},
    Row{"extra", "", no_words},
    Row{"word", "", no_words},
    Row{"scenario", "", no_words, true},
    Row{"trace", "", no_words, true},
    Row{"table", "gpu", no_words, true},
    Row{"file", "", no_words, true},
    Row{"log", "", no_words, true},
};

Candidates values_of_key(const config::KeyRow& row) {
  if (row.value.type == config::ValueType::path) return {{}, true};
  return {plain(row.value.choices)};
}

// "text|csv|comms", of which each is a value; "FILE.xml|NAME" is not.
bool is_list(std::string_view value_name) {
  return value_name.find('|') != std::string_view::npos &&
         std::ranges::none_of(value_name, [](unsigned char c) { return std::isupper(c) != 0; });
}

bool is_file(std::string_view value_name) {
  return value_name.find("FILE") != std::string_view::npos ||
         value_name.find(".yaml") != std::string_view::npos;
}

}  // namespace

Candidates values_of(std::string_view command, std::string_view name, std::string_view value_name) {
  for (const Row& row : rows)
    if (row.name == name && command.starts_with(row.command)) return {row.words(), row.files};
  if (is_list(value_name)) {
    Words words;
    for (const auto part : std::views::split(value_name, '|'))
      words.push_back({std::string(part.begin(), part.end())});
    return {words};
  }
  if (is_file(value_name)) return {{}, true};
  const std::string flag = fmt::format("--{}", name);
  for (const config::KeyRow& row : config::scenario_keys())
    if (!row.info.flag.empty() && row.info.flag.ends_with(flag) && value_name.starts_with("X"))
      return values_of_key(row);
  return {};
}

Candidates settings(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::vector<config::KeyRow> keys = config::scenario_keys();
  if (equals == std::string_view::npos) {
    Words words;
    for (const config::KeyRow& row : keys)
      words.push_back({row.name + "=", std::string(row.info.help)});
    return {words};
  }
  const std::string_view key = word.substr(0, equals);
  const auto row = std::ranges::find(keys, key, &config::KeyRow::name);
  if (row == keys.end()) return {};
  Candidates found = values_of("", key, "");
  if (found.words.empty()) found = values_of_key(*row);
  for (Candidate& one : found.words) one.word = fmt::format("{}={}", key, one.word);
  return {found.words};
}

}  // namespace pipewright::cli
