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
Words words_of(const Names& names) {
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

Words clusters() { return words_of(config::library_names("clusters", ".xml")); }
Words models() { return words_of(config::library_names("models", ".yaml")); }
Words gpus() { return words_of(config::library_names("gpus", ".yaml")); }
Words stacks() { return words_of(config::library_names("stacks", ".yaml")); }
Words nodes() { return words_of(config::library_names("nodes", ".yaml")); }
Words schedule_names() { return with_help(schedules::catalog()); }
Words operations() { return with_help(analysis::operation_list()); }
Words fabric_names() { return with_help(cluster::fabrics()); }
Words algorithms() { return words_of(config::algorithm_names); }
Words multipath_modes() { return words_of(config::multipath_names); }
Words shells() { return words_of(std::array{"bash", "zsh", "fish"}); }
Words no_words() { return {}; }

// Names of the frameworks for which pipewright can write launch scripts.
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

// Row of a table: the values that complete an option or an argument. The first matching row counts.
struct ValueSource {
  std::string_view name;     // of the option, or of the words without an option
  std::string_view command;  // prefix of the command's name
  Words (*words)() = nullptr;
  bool files = false;
};
constexpr std::array value_sources{
    ValueSource{"cluster", "", clusters, true},
    ValueSource{"model", "", models, true},
    ValueSource{"gpu", "", gpus, true},
    ValueSource{"stack", "", stacks, true},
    ValueSource{"gpu-file", "gpu", gpus, true},
    ValueSource{"like", "gpu", gpus, true},
    ValueSource{"node", "platform", nodes, true},
    ValueSource{"schedule", "", schedule_names, true},
    ValueSource{"op", "comm", operations},
    ValueSource{"fabric", "platform", fabric_names},
    ValueSource{"algorithm", "comm", algorithms},
    ValueSource{"multipath", "", multipath_modes},
    ValueSource{"launch", "", frameworks},
    ValueSource{"name", "schedule", schedule_names, true},
    ValueSource{"name", "model", models, true},
    ValueSource{"name", "stack", stacks, true},
    ValueSource{"file", "platform import", no_words, true},
    ValueSource{"file", "platform", clusters, true},
    ValueSource{"topic", "help", topic_names},
    ValueSource{"shell", "completion", shells},
    ValueSource{"extra", "", no_words},
    ValueSource{"word", "", no_words},
    ValueSource{"scenario", "", no_words, true},
    ValueSource{"trace", "", no_words, true},
    ValueSource{"table", "gpu", no_words, true},
    ValueSource{"sheet", "gpu", no_words, true},
    ValueSource{"file", "", no_words, true},
    ValueSource{"log", "", no_words, true},
};

Candidates values_of_key(const config::KeyRow& row) {
  if (row.value.type == config::ValueType::path) return {{}, true};
  return {words_of(row.value.choices)};
}

// Returns true if the placeholder of a value lists all values: "text|csv|comms" does,
// "FILE.xml|NAME" does not.
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
  for (const ValueSource& source : value_sources)
    if (source.name == name && command.starts_with(source.command))
      return {source.words(), source.files};
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
  Candidates completions = values_of("", key, "");
  if (completions.words.empty()) completions = values_of_key(*row);
  for (Candidate& candidate : completions.words)
    candidate.word = fmt::format("{}={}", key, candidate.word);
  return {completions.words};
}

}  // namespace pipewright::cli
