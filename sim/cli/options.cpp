#include "sim/cli/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/cli/fitting_clusters.hpp"
#include "sim/cli/job_scenario.hpp"
#include "sim/config/key_named.hpp"
#include "sim/config/model_tree.hpp"
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

// Style parser of boost::program_options that takes a negative number for a value of the option
// before it, not for an option.
std::vector<po::option> take_negative_numbers(std::vector<std::string>& words) {
  std::vector<po::option> number;
  if (!words.empty() && is_negative_number(words.front())) {
    number.emplace_back();
    number.back().value.push_back(words.front());
    number.back().original_tokens.push_back(words.front());
    words.erase(words.begin());
  }
  return number;
}

// True for an option whose values may be assignments or comparisons, such as --set KEY=VALUE.
bool takes_equals_signs(const po::option_description& option) {
  const std::string form = option.format_parameter();
  return std::ranges::any_of(std::array{"=", "CONDITION", "WORD", "AXIS"}, [&](const char* part) {
    return form.find(part) != std::string::npos;
  });
}

// Puts the variables of a job first, so that an option before them does not take them for values:
// --cluster dgx-h100 TP=2. The word after an option always belongs to the option.
Arguments with_variables_first(const Arguments& arguments, const po::options_description& options) {
  Arguments variables;
  Arguments others;
  bool keeps = false;  // the option before may have such values
  bool first = false;  // the word follows an option
  for (const std::string& word : arguments) {
    if (word.size() > 1 && word.front() == '-' && !is_negative_number(word)) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(word.starts_with("--") ? 2 : 0, equals);
      const po::option_description* const option = options.find_nothrow(
          word.starts_with("--") ? name.substr(0, name.find('=')) : word.substr(0, 2), false);
      keeps = option == nullptr || takes_equals_signs(*option);
      first = equals == std::string::npos;
      others.push_back(word);
      continue;
    }
    (!keeps && !first && is_variable(word) ? variables : others).push_back(word);
    first = false;
  }
  variables.insert(variables.end(), others.begin(), others.end());
  return variables;
}

// Returns whether a map has keys of scenarios and sweeps alone, as no file that a command writes
// has.
bool has_scenario_keys(const config::Value& map) {
  if (map.kind != config::Value::Kind::map || map.entries.empty()) return false;
  std::set<std::string, std::less<>> names{"search", "num_stages", "num_batches", "output_file"};
  for (const KeyRow& row : config::scenario_keys()) names.insert(row.name);
  return std::ranges::all_of(map.entries,
                             [&](const auto& entry) { return names.contains(entry.key); });
}

// Returns whether a file can be an input of a command: a scenario, a job of a framework, a trace or
// results (HDF5), or a cluster (XML).
bool is_input_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string begin(8, '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin.starts_with("\x89HDF") || begin.starts_with("<?xml")) return true;
  if (is_job({.files = {file}, .words = {}})) return true;
  try {
    return has_scenario_keys(config::read_yaml_file(file));
  } catch (const config::Error&) {
    return false;
  }
}

// Returns whether a word after the first value of an option cannot be a value of it: a file, if the
// option takes a single value or assignments; an input of commands, if it takes several words.
bool is_no_value(const std::string& word, const po::option_description& option) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(word, ignored)) return false;
  const std::string form = option.format_parameter();
  if (!form.ends_with("..")) return true;
  if (form.find('=') != std::string::npos && word.find('=') == std::string::npos) return true;
  return is_input_file(word);
}

// Gives the last words of an option to the command if it has no file, as in -o page.html
// scenario.yaml: an option takes all words that follow it.
void release_files(std::vector<po::option>& parsed, const po::options_description& options,
                   const std::string& positional) {
  const bool has_file = std::ranges::any_of(parsed, [&](const po::option& option) {
    return option.string_key == "config" ||
           (option.string_key == positional &&
            std::ranges::any_of(option.value, [](const auto& word) { return !is_variable(word); }));
  });
  if (has_file) return;
  std::vector<std::string> files;
  for (po::option& option : parsed) {
    const po::option_description* const description =
        options.find_nothrow(option.string_key, false);
    if (description == nullptr || option.string_key == positional) continue;
    std::vector<std::string> released;
    while (option.value.size() > 1 && is_no_value(option.value.back(), *description)) {
      released.insert(released.begin(), option.value.back());
      option.value.pop_back();
    }
    files.insert(files.end(), released.begin(), released.end());
  }
  for (const std::string& file : files) parsed.emplace_back(positional, std::vector{file});
}

// Returns what a user probably means by an unknown option: another option, or the key of a scenario
// whose last part has this name.
std::string probable_option(const std::string& option, const std::vector<std::string>& names) {
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  if (option == "-v") return "--version";
  if (name.size() < 2) return "";
  const std::string_view near =
      config::nearest_name(name, std::vector<std::string_view>(names.begin(), names.end()));
  if (!near.empty()) return fmt::format("--{}", near);
  if (std::ranges::find(names, "set") == names.end()) return "";
  const std::string key = config::key_named(name, config::scenario_keys());
  return key.empty() ? "" : fmt::format("--set {}=..", key);
}

// Options of launchers that have no counterpart here, and what gives the same.
struct LauncherOption {
  std::array<std::string_view, 4> names;
  std::string_view advice;
};
constexpr std::array launcher_options{
    LauncherOption{{"nodes", "nnodes", "num-nodes", "num_nodes"},
                   "the parallel sizes (--tp, --cp, --pp, --dp) give the number of GPUs, and "
                   "'pipewright platform make --node dgx-h100 --nodes 16 -o cluster.xml' makes a "
                   "cluster of 16 nodes for --cluster"},
    LauncherOption{{"gpus", "num-gpus", "num_gpus", "world-size"},
                   "the parallel sizes (--tp, --cp, --pp, --dp) give the number of GPUs; a sweep "
                   "limits it by search.gpus"}};

// Returns what gives the same as a launcher's option; empty for other options. Only commands that
// read a scenario have this advice.
std::string_view launcher_advice(const std::string& option, const std::vector<std::string>& names) {
  if (std::ranges::find(names, "set") == names.end()) return "";
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const auto* const row = std::ranges::find_if(launcher_options, [&](const LauncherOption& entry) {
    return std::ranges::find(entry.names, name) != entry.names.end();
  });
  return row == launcher_options.end() ? "" : row->advice;
}

// Keys of a scenario whose options are the same in all commands. Options for schedules and outputs
// differ by command and are left out.
const std::vector<KeyRow>& option_rows() {
  static const std::vector<KeyRow> rows = [] {
    std::vector<KeyRow> shared = config::scenario_keys();
    std::erase_if(shared, [](const KeyRow& row) {
      return row.info.flag.empty() || row.name.starts_with("schedule") || row.name == "output";
    });
    return shared;
  }();
  return rows;
}

// Return the long and the short name of an option: "num-stages" and "s" for "-s/--num-stages".
std::string long_name(const KeyRow& row) {
  const std::string_view flag = row.info.flag;
  return std::string(flag.substr(flag.find("--") + 2));
}
std::string short_name(const KeyRow& row) {
  const std::string_view flag = row.info.flag;
  return flag.find('/') == 2 ? std::string(flag.substr(1, 1)) : "";
}

// Returns true if an option takes a list as separate words, as lists of times are. Other lists,
// such as a partition, are one word in the syntax of a file.
bool takes_several(const KeyRow& row) {
  return row.value.list && row.value.type == ValueType::time;
}

// Returns the value that the words of an option set. A word with braces is a map in the syntax of a
// file, if the key has a map: --stack '{like: torchtitan}'.
config::Value value_of_option(const KeyRow& row, const std::vector<std::string>& words) {
  const config::Origin origin{.source = "--" + long_name(row)};
  if (takes_several(row)) return config::make_list(words, origin);
  const std::string& word = single(words, origin.source);
  return row.value.keys != nullptr && word.starts_with('{') ? config::read_yaml_value(word, origin)
                                                            : config::make_text(word, origin);
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

// Appends links to variation.slow_links of the scenario.
void add_slow_links(config::Value& root, const std::vector<config::Variation::SlowLink>& links) {
  using config::Value;
  Value list{.kind = Value::Kind::list, .origin = links.front().origin};
  const Value* const variation = config::find(root, "variation");
  const Value* const present =
      variation == nullptr ? nullptr : config::find(*variation, "slow_links");
  if (present != nullptr && present->kind == Value::Kind::list)
    list.items = present->items;
  else if (present != nullptr)
    list.items.push_back(*present);
  for (const config::Variation::SlowLink& link : links) {
    Value map{.kind = Value::Kind::map, .origin = link.origin};
    map.entries.push_back({"link", link.origin, config::make_text(link.link, link.origin)});
    map.entries.push_back(
        {"factor", link.origin, config::make_text(fmt::format("{}", link.factor), link.origin)});
    list.items.push_back(std::move(map));
  }
  config::set_key(root, "variation.slow_links", list);
}

// Files that the command line names without an option or with -c.
JobFiles files_of(const po::variables_map& flags) {
  std::vector<std::string> words = values(flags, "scenario");
  for (const std::string& file : values(flags, "config")) words.push_back(file);
  JobFiles files = job_files(words);
  files.words.with_bash = flags.count("run-with-bash") != 0;
  if (flags.count("gpus") != 0) files.words.gpus = read_count(flags, "gpus");
  return files;
}

// Imports the job of the command line. If its files leave the number of GPUs open, --dp gives it
// before the job is read, so that rules of the framework that depend on it apply.
struct JobOfFlags {
  std::optional<jobs::Job> job;
  bool counts_dp = false;  // the job was read with the GPUs of --dp
};
JobOfFlags job_of(const po::variables_map& flags) {
  JobFiles files = files_of(flags);
  std::optional<jobs::Job> job = read_job(files);
  if (!job && files.words.gpus)
    throw UsageError("--gpus applies to jobs of other frameworks only, such as train.sh")
        .suggest("set parallel.dp of the scenario");
  const bool lacks_gpus =
      job && std::ranges::find(job->missing, "parallel.dp") != job->missing.end();
  if (!lacks_gpus || flags.count("dp") == 0) return {std::move(job)};
  const std::string dp = single(values(flags, "dp"), "--dp");
  const auto replicas = base::parse_number<std::uint32_t>(dp);
  if (!replicas || *replicas == 0) return {std::move(job)};
  files.words.gpus = gpus_of(job->tree) * *replicas;
  return {read_job(files), true};
}

// Returns whether a file, or the config.json of a folder, describes a Hugging Face model.
bool is_model_file(const std::filesystem::path& file) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(file, ignored);
  const std::filesystem::path config = is_folder ? file / "config.json" : file;
  if (config.extension() != ".json" || !std::filesystem::is_regular_file(config, ignored))
    return false;
  config::Document document = config::scenario_document;
  document.is_foreign = true;
  return config::is_config(config::read_yaml_file(config.string(), document));
}

// Reads a scenario from a file, or from standard input (-). Throws config::Error for the
// config.json of a model, which is no scenario.
config::Value read_scenario_file(const std::filesystem::path& file) {
  try {
    config::Value tree = config::read_yaml_file(file == "-" ? "/dev/stdin" : file.string());
    if (file.extension() != ".json" || !config::is_config(tree)) return tree;
  } catch (const config::Error&) {
    // A config.json may contain nulls, which are errors in a scenario.
    if (!is_model_file(file)) throw;
  }
  throw config::Error({.source = file.string()},
                      "this is the config.json of a Hugging Face model, and no scenario")
      .suggest(fmt::format("use it as the model: --model {}", file.string()));
}

// Set while the syntax of a command is requested: parse() then throws the syntax that the command
// passes to it.
bool syntax_requested = false;

}  // namespace

Syntax syntax_of(const Command& command) {
  syntax_requested = true;
  try {
    command.run({});
  } catch (const Syntax& syntax) {
    syntax_requested = false;
    return syntax;
  }
  throw std::logic_error(fmt::format("{} does not parse its arguments first", command.name));
}

po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional) {
  if (syntax_requested) throw Syntax{options, positional};
  po::options_description complete = options;
  if (complete.find_nothrow("help", false) == nullptr) complete.add_options()("help,h", "");
  if (complete.find_nothrow(positional, false) == nullptr)
    complete.add_options()(positional.c_str(), po::value<std::vector<std::string>>());
  const Arguments words =
      positional == "scenario" ? with_variables_first(arguments, complete) : arguments;
  po::positional_options_description positions;
  positions.add(positional.c_str(), -1);
  try {
    po::parsed_options parsed =
        po::command_line_parser(words)
            .options(complete)
            .positional(positions)
            .extra_style_parser(take_negative_numbers)
            .style(po::command_line_style::default_style & ~po::command_line_style::allow_guessing)
            .run();
    release_files(parsed.options, complete, positional);
    po::variables_map flags;
    po::store(parsed, flags);
    po::notify(flags);
    return flags;
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const auto& option : options.options()) names.push_back(option->long_name());
    const std::string_view advice = launcher_advice(error.get_option_name(), names);
    const std::string probable =
        advice.empty() ? probable_option(error.get_option_name(), names) : "";
    UnknownOption unknown(error.what(), error.get_option_name(), std::move(names));
    unknown.suggest_name(probable);
    if (!advice.empty()) unknown.suggest(std::string(advice));
    throw unknown;
  } catch (const po::error& error) {
    throw UsageError(error.what()).suggest("see --help");
  }
}

std::vector<std::string> values(const po::variables_map& flags, const std::string& option) {
  return flags.count(option) != 0 ? flags[option].as<std::vector<std::string>>()
                                  : std::vector<std::string>();
}

const std::string& single(const std::vector<std::string>& words, std::string_view flag) {
  if (words.size() != 1)
    throw UsageError(fmt::format("{} takes one value, not {}", flag, words.size()));
  return words.front();
}

std::uint32_t read_count(const po::variables_map& flags, const std::string& option) {
  const config::Value value = config::make_text(flags[option].as<std::string>(), {});
  return config::read_count({value, "--" + option}, "8");
}

std::string describe(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

std::string describe_section(std::string_view name, const std::vector<KeyRow>& keys) {
  std::string text =
      fmt::format("keys of the map `{}` of a scenario (* required in its section):\n", name);
  for (const KeyRow& key : keys)
    text += fmt::format("  {:<26} {}{}\n", key.name, help_line(key), key.info.required ? " *" : "");
  return text;
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
      "scenario file, which can also be the first argument; - is standard input");
  add("set", several_words("KEY=VALUE..")->composing(),
      "set any key of the scenario, such as activation.per_microbatch='2 GiB'");
  add("strict", "refuse a job of another framework that has settings that are not modelled");
}

void add_gpus_option(po::options_description& options) {
  options.add_options()("gpus", one_word("N"),
                        "number of GPUs of a job, in place of that of its files");
}

void add_bash_option(po::options_description& options) {
  options.add_options()(
      "run-with-bash",
      "bash runs the scripts of a job in a sandbox that records what they start: no network, "
      "a read-only file system, and no programs but plain tools");
}

void add_failure_words(po::options_description& options) {
  auto add = options.add_options();
  add("fail", several_words("NAME..")->composing(),
      "failed links, NICs, switches or zones of the cluster file");
  add("slow", several_words("NAME=PART..")->composing(),
      "slow links, NICs, switches or zones, with the fraction of their bandwidth that remains: "
      "leaf-0-up=0.5");
}

std::vector<config::Variation::SlowLink> failures(const po::variables_map& flags) {
  std::vector<config::Variation::SlowLink> links;
  for (const std::string& name : values(flags, "fail"))
    links.push_back({.link = name, .factor = 0, .origin = {.source = "--fail"}});
  for (const std::string& word : values(flags, "slow")) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format("--slow takes NAME=PART, as in leaf-0-up=0.5, not '{}'", word));
    const config::Value value = config::make_text(word.substr(equals + 1), {.source = "--slow"});
    links.push_back({.link = word.substr(0, equals),
                     .factor = config::read_part({value, "the remaining part"}, "a part"),
                     .origin = {.source = "--slow"}});
  }
  return links;
}

std::optional<std::filesystem::path> scenario_file(const po::variables_map& flags) {
  std::vector<std::string> files = files_of(flags).files;
  if (files.empty()) return std::nullopt;
  if (files.size() > 1 && is_job(files_of(flags))) return files.back();
  if (files.size() > 1)
    throw UsageError(
        fmt::format("one scenario at a time: '{}' and '{}' were given; 'pipewright run --together' "
                    "runs several "
                    "at once",
                    files[0], files[1]));
  return files.front();
}

config::Value scenario_tree(const po::variables_map& flags,
                            const std::function<void(config::Value&)>& adjust) {
  const JobOfFlags command_line = job_of(flags);
  const std::optional<jobs::Job>& job = command_line.job;
  const std::optional<std::filesystem::path> file = scenario_file(flags);
  config::Value root = job    ? job->tree
                       : file ? read_scenario_file(*file)
                              : config::empty_scenario();
  const auto set = job ? set_key_of_job : config::set_key;
  for (const KeyRow& row : option_rows()) {
    const std::string name = long_name(row);
    if (flags.count(name) == 0) continue;
    std::vector<std::string> words{"true"};
    if (row.value.type != ValueType::flag) words = values(flags, name);
    if (words.empty()) continue;
    // A job that was read with the GPUs of --dp may have them as shards and replicas.
    if (row.name == "parallel.dp" && command_line.counts_dp &&
        config::value_at(root, "parallel.shard") != nullptr)
      continue;
    set(root, row.name, value_of_option(row, words));
  }
  if (const auto links = failures(flags); !links.empty()) add_slow_links(root, links);
  if (adjust) adjust(root);
  std::set<std::string> keys;
  for (const std::string& word : values(flags, "set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--set takes KEY=VALUE, not '{}'", word))
          .suggest("name files before --set");
    const std::string key = word.substr(0, equals);
    if (!keys.insert(key).second)
      throw UsageError(fmt::format("--set {}: is given twice", key)).suggest("leave out one");
    set(root, key, config::read_yaml_value(word.substr(equals + 1), {.source = "--set " + key}));
  }
  if (job) {
    if (flags.count("strict") != 0) jobs::check_all_modelled(*job);
    print_settings(*job);
    check_job(*job, root);
  }
  return root;
}

void check_has_scenario(const config::Value& root) {
  if (root.entries.empty())
    throw UsageError("the command needs a scenario")
        .suggest("name its file, as in 'pipewright run llama.yaml'; see --help");
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

void read_choices(const po::variables_map& flags, schedules::Parameters& parameters) {
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (const std::string option = option_of(info); flags.count(option) != 0)
      parameters.*info.choice = info.is_flag ? 1 : read_count(flags, option);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "pipewright: {}\n", note);
}

std::filesystem::path platform_file(const po::variables_map& flags, const std::string& verb) {
  const std::vector<std::string> files = values(flags, "file");
  if (files.size() != 1)
    throw UsageError(fmt::format("platform {} takes one file, or a name of the library: {}", verb,
                                 fmt::join(config::library_names("clusters", ".xml"), ", ")));
  const std::string& word = files.front();
  if (config::is_library_name(word, ".xml")) return config::library_file("clusters", word, ".xml");
  return word;
}

}  // namespace pipewright::cli
