#include "sim/cli/scenario_options.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cli {
namespace {

using config::KeyRow;
using config::ValueType;

// The rows that have an option here. Which schedules are compared and which files are written, each
// command asks in its own way.
const std::vector<KeyRow>& option_rows() {
  static const std::vector<KeyRow> rows = [] {
    std::vector<KeyRow> all = config::scenario_keys();
    std::erase_if(all, [](const KeyRow& row) {
      return row.info.flag.empty() || row.name.starts_with("schedule") || row.name == "output";
    });
    return all;
  }();
  return rows;
}

// "num-stages" and "s" of "-s/--num-stages".
std::string long_name(const KeyRow& row) {
  const std::string_view flag = row.info.flag;
  return std::string(flag.substr(flag.find("--") + 2));
}
std::string short_name(const KeyRow& row) {
  const std::string_view flag = row.info.flag;
  return flag.find('/') == 2 ? std::string(flag.substr(1, 1)) : "";
}

// Lists are given word by word; a partition that is one is written as in a file.
bool takes_several(const KeyRow& row) {
  return row.value.list && row.value.type == ValueType::time;
}

auto words(const char* name) {
  return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
}

void add_option(const KeyRow& row, po::options_description& options) {
  std::string name = long_name(row);
  if (const std::string letter = short_name(row); !letter.empty()) name += "," + letter;
  const std::string help = help_line(row);
  if (row.value.type == ValueType::flag)
    options.add_options()(name.c_str(), help.c_str());
  else
    options.add_options()(name.c_str(), words(takes_several(row) ? "X.." : "X"), help.c_str());
}

}  // namespace

void add_scenario_options(po::options_description& options,
                          std::span<const std::string_view> keys) {
  for (const KeyRow& row : option_rows())
    if (std::ranges::find(keys, row.name) != keys.end()) add_option(row, options);
  add_file_options(options);
}

void add_scenario_options(po::options_description& options) {
  for (const KeyRow& row : option_rows()) add_option(row, options);
  add_file_options(options);
}

void add_file_options(po::options_description& options) {
  auto add = options.add_options();
  add("config,c", words("FILE"), "the scenario, as the first argument is; - is standard input");
  add("set", words("KEY=VALUE..")->composing(),
      "set any key of the scenario, as in activation.per_microbatch='2 GiB'");
}

const std::string& single(const std::vector<std::string>& words, const std::string& flag) {
  if (words.size() != 1)
    throw UsageError(fmt::format("{} takes one value, not {}", flag, words.size()));
  return words.front();
}

std::optional<std::filesystem::path> scenario_file(const po::variables_map& given) {
  std::vector<std::string> files = values(given, "scenario");
  for (const std::string& file : values(given, "config")) files.push_back(file);
  if (files.empty()) return std::nullopt;
  if (files.size() > 1)
    throw UsageError(
        fmt::format("one scenario at a time: '{}' and '{}' were given", files[0], files[1]));
  return files.front();
}

config::Value scenario_tree(const po::variables_map& given,
                            const std::function<void(config::Value&)>& between) {
  const std::optional<std::filesystem::path> file = scenario_file(given);
  config::Value root = file ? config::read_yaml_file(*file == "-" ? "/dev/stdin" : file->string())
                            : config::empty_scenario();
  for (const KeyRow& row : option_rows()) {
    const std::string name = long_name(row);
    if (given.count(name) == 0) continue;
    std::vector<std::string> given_words{"true"};
    if (row.value.type != ValueType::flag) given_words = values(given, name);
    if (given_words.empty()) continue;
    const config::Origin origin{.source = "--" + name};
    config::set_key(root, row.name,
                    takes_several(row)
                        ? config::make_list(given_words, origin)
                        : config::make_text(single(given_words, origin.source), origin));
  }
  if (between) between(root);
  std::set<std::string> keys;
  for (const std::string& word : values(given, "set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--set takes KEY=VALUE, not '{}'", word));
    const std::string key = word.substr(0, equals);
    if (!keys.insert(key).second)
      throw UsageError(fmt::format("--set {}: is given twice; leave out one of them", key));
    config::override_key(root, key, word.substr(equals + 1), {.source = "--set " + key});
  }
  return root;
}

}  // namespace pipewright::cli
