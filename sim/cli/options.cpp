#include "sim/cli/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/job_scenario.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cli {
namespace {

using config::KeyRow;
using config::ValueType;

bool is_negative_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
}

// Without an option's name a word is a value of the option before it.
std::vector<po::option> take_negative_numbers(std::vector<std::string>& words) {
  std::vector<po::option> taken;
  if (!words.empty() && is_negative_number(words.front())) {
    taken.emplace_back();
    taken.back().value.push_back(words.front());
    taken.back().original_tokens.push_back(words.front());
    words.erase(words.begin());
  }
  return taken;
}

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

void add_option(const KeyRow& row, po::options_description& options) {
  std::string name = long_name(row);
  if (const std::string letter = short_name(row); !letter.empty()) name += "," + letter;
  const std::string help = help_line(row);
  if (row.value.type == ValueType::flag)
    options.add_options()(name.c_str(), help.c_str());
  else
    options.add_options()(name.c_str(), several_words(takes_several(row) ? "X.." : "X"),
                          help.c_str());
}

// After those that the scenario has.
void add_slow_links(config::Value& root, const std::vector<config::Variation::SlowLink>& links) {
  using config::Value;
  Value list{.kind = Value::Kind::list, .origin = links.front().origin};
  const Value* const variation = config::find(root, "variation");
  const Value* const known =
      variation == nullptr ? nullptr : config::find(*variation, "slow_links");
  if (known != nullptr && known->kind == Value::Kind::list)
    list.items = known->items;
  else if (known != nullptr)
    list.items.push_back(*known);
  for (const config::Variation::SlowLink& link : links) {
    Value map{.kind = Value::Kind::map, .origin = link.origin};
    map.entries.push_back({"link", link.origin, config::make_text(link.link, link.origin)});
    map.entries.push_back(
        {"factor", link.origin, config::make_text(fmt::format("{}", link.factor), link.origin)});
    list.items.push_back(std::move(map));
  }
  config::set_key(root, "variation.slow_links", list);
}

// What stands on the command line without an option, and after -c.
JobFiles files_of(const po::variables_map& given) {
  std::vector<std::string> words = values(given, "scenario");
  for (const std::string& file : values(given, "config")) words.push_back(file);
  return job_files(words);
}

// While a command is asked for its syntax, parse() throws that.
bool asked_for_syntax = false;

}  // namespace

Syntax syntax_of(const Command& command) {
  asked_for_syntax = true;
  try {
    command.run({});
  } catch (const Syntax& syntax) {
    asked_for_syntax = false;
    return syntax;
  }
  throw std::logic_error(fmt::format("{} does not parse its words first", command.name));
}

po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional) {
  if (asked_for_syntax) throw Syntax{options, positional};
  po::options_description all = options;
  if (all.find_nothrow("help", false) == nullptr) all.add_options()("help,h", "");
  if (all.find_nothrow(positional, false) == nullptr)
    all.add_options()(positional.c_str(), po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add(positional.c_str(), -1);
  try {
    po::variables_map given;
    po::store(
        po::command_line_parser(arguments)
            .options(all)
            .positional(positions)
            .extra_style_parser(take_negative_numbers)
            .style(po::command_line_style::default_style & ~po::command_line_style::allow_guessing)
            .run(),
        given);
    po::notify(given);
    return given;
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
}

std::vector<std::string> values(const po::variables_map& given, const std::string& option) {
  return given.count(option) != 0 ? given[option].as<std::vector<std::string>>()
                                  : std::vector<std::string>();
}

const std::string& single(const std::vector<std::string>& words, std::string_view flag) {
  if (words.size() != 1)
    throw UsageError(fmt::format("{} takes one value, not {}", flag, words.size()));
  return words.front();
}

std::uint32_t read_count(const po::variables_map& given, const std::string& option) {
  const config::Value value = config::make_text(given[option].as<std::string>(), {});
  return config::read_count({value, "--" + option}, "8");
}

std::string describe(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

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
  add("config,c", several_words("FILE"),
      "the scenario, as the first argument is; - is standard input");
  add("set", several_words("KEY=VALUE..")->composing(),
      "set any key of the scenario, as in activation.per_microbatch='2 GiB'");
}

void add_failure_words(po::options_description& options) {
  auto add = options.add_options();
  add("fail", several_words("NAME..")->composing(),
      "links, NICs, switches or zones of the cluster's file that have failed");
  add("slow", several_words("NAME=PART..")->composing(),
      "or that have this part of their rate, as in leaf-0-up=0.5");
}

std::vector<config::Variation::SlowLink> failures(const po::variables_map& given) {
  std::vector<config::Variation::SlowLink> found;
  for (const std::string& name : values(given, "fail"))
    found.push_back({.link = name, .factor = 0, .origin = {.source = "--fail"}});
  for (const std::string& word : values(given, "slow")) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--slow takes NAME=PART, as in leaf-0-up=0.5, not '{}'", word));
    const config::Value value = config::make_text(word.substr(equals + 1), {.source = "--slow"});
    found.push_back({.link = word.substr(0, equals),
                     .factor = config::read_part({value, "the part that is left"}, "a part"),
                     .origin = {.source = "--slow"}});
  }
  return found;
}

std::optional<std::filesystem::path> scenario_file(const po::variables_map& given) {
  std::vector<std::string> files = files_of(given).files;
  if (files.empty()) return std::nullopt;
  if (files.size() > 1 && is_job(files_of(given))) return files.back();
  if (files.size() > 1)
    throw UsageError(fmt::format(
        "one scenario at a time: '{}' and '{}' were given; 'pipewright run' runs several "
        "at once with --together",
        files[0], files[1]));
  return files.front();
}

config::Value scenario_tree(const po::variables_map& given,
                            const std::function<void(config::Value&)>& between) {
  const std::optional<jobs::Job> job = read_job(files_of(given));
  const std::optional<std::filesystem::path> file = scenario_file(given);
  config::Value root = job    ? job->tree
                       : file ? config::read_yaml_file(*file == "-" ? "/dev/stdin" : file->string())
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
  if (const auto links = failures(given); !links.empty()) add_slow_links(root, links);
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
  if (job) check_job(*job, root);
  return root;
}

std::string option_of(const schedules::ChoiceInfo& info) {
  return std::string(info.flag.substr(2));
}

void add_choices(po::options_description& options) {
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (info.is_flag)
      options.add_options()(option_of(info).c_str(), std::string(info.help).c_str());
    else
      options.add_options()(option_of(info).c_str(), one_word("N"), std::string(info.help).c_str());
}

void read_choices(const po::variables_map& given, schedules::Parameters& parameters) {
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (const std::string option = option_of(info); given.count(option) != 0)
      parameters.*info.choice = info.is_flag ? 1 : read_count(given, option);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "pipewright: {}\n", note);
}

std::filesystem::path platform_file(const po::variables_map& given, const std::string& verb) {
  const std::vector<std::string> files = values(given, "file");
  if (files.size() != 1)
    throw UsageError(fmt::format("platform {}: one file, or a name of the library: {}", verb,
                                 fmt::join(config::library_names("clusters", ".xml"), ", ")));
  const std::string& word = files.front();
  if (config::is_library_name(word, ".xml")) return config::library_file("clusters", word, ".xml");
  return word;
}

}  // namespace pipewright::cli
