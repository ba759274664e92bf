#include "sim/cli/run_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "schedules/catalog.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/yaml.hpp"

namespace pipewright::cli {
namespace {

// Options that put their words under a key of the scenario.
struct KeyOption {
  const char* option;  // long name, and short name after a comma
  const char* key;
  const char* help;
  bool is_list = false;
};
constexpr std::array key_options{
    KeyOption{"num-stages,s", "devices", "devices of the pipeline"},
    KeyOption{"num-batches,b", "microbatches", "microbatches of an iteration"},
    KeyOption{"iterations", "iterations", "iterations, one after the other (1)"},
    KeyOption{"forward-times,f", "forward_times",
              "time of F: one, one per device, or one per stage", true},
    KeyOption{"backward-times", "backward_times", "time of B, the full backward", true},
    KeyOption{"input-grad-times", "input_grad_times", "or time of I, the input gradient,", true},
    KeyOption{"weight-grad-times", "weight_grad_times", "and of W, the weight gradient", true},
    KeyOption{"overlap", "overlap", "a fused F and B take this part of their sum (1),"},
    KeyOption{"fused-times", "fused_times", "or this time of their own", true},
    KeyOption{"p2p-time", "p2p_time", "time of a hop without a cluster (0)"},
    KeyOption{"cluster", "cluster", "SimGrid platform file (XML) of the cluster"},
    KeyOption{"p2p", "p2p", "point to point: eager (default), rendezvous or blocking"},
    KeyOption{"engine", "engine", "simgrid (default), or timing: no contention, no SimGrid"},
    KeyOption{"trace", "trace", "write the trace to this HDF5 file"},
};

std::string long_name(const KeyOption& option) {
  const std::string name = option.option;
  return name.substr(0, name.find(','));
}

po::options_description visible_options() {
  po::options_description options("options", 100);
  const auto words = [](const char* name) {
    return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
  };
  auto add = options.add_options();
  add("schedule", words("NAME.."), "schedules to compare; see 'pipewright schedule list'");
  add("chunks", words("V"), "stages per device, for schedules that take chunks");
  add("group-size", words("G"), "microbatches that pass a chunk before the next chunk's turn");
  for (const KeyOption& option : key_options)
    add(option.option, words(option.is_list ? "X.." : "X"), option.help);
  add("output,o", words("FILE..")->composing(), "write .html .svg .png .pdf .json or .csv");
  add("config,c", words("FILE"), "the scenario, as the first argument is");
  add("set", words("KEY=VALUE..")->composing(),
      "set any key of the scenario, as in schedule.chunks=4");
  add("json", "print the summary as JSON and nothing else");
  add("quiet", "no progress bar");
  add("help,h", "this text");
  return options;
}

void print_help() {
  fmt::print(
      "usage: pipewright run [SCENARIO] [OPTIONS]\n\n"
      "Simulates training iterations of a pipeline and prints time, throughput, bubbles and\n"
      "memory. SCENARIO is a YAML or JSON file; options stand over what it says.\n\n"
      "  pipewright run platforms/scenarios/gpt-6b-a100.yaml -o gpt.html --trace gpt.h5\n"
      "  pipewright run -s 4 -b 8 -f 1 --backward-times 2 --schedule 1f1b gpipe -o first.png\n"
      "  pipewright run -s 4 -b 8 -f '18 ms' --input-grad-times '18 ms' --weight-grad-times '9 "
      "ms'\n"
      "      --schedule interleaved-1f1b --chunks 2 --p2p-time '0.6 ms' --json\n"
      "  pipewright run gpt.yaml --set microbatches=128 p2p=blocking schedule.chunks=2\n\n"
      "Times take units (18.5 ms), sizes too (24 MiB); bare numbers are seconds and bytes.\n\n"
      "{}\nkeys of a scenario:\n",
      describe(visible_options()));
  for (const config::KeyHelp& key : config::scenario_keys())
    fmt::print("  {:<36} {}\n", key.name, key.info.help);
}

bool takes_chunks(const std::string& name) {
  const auto catalog = schedules::catalog();
  return std::any_of(catalog.begin(), catalog.end(), [&](const schedules::Entry& entry) {
    return entry.name == name && entry.takes_chunks;
  });
}

const std::string& single(const std::vector<std::string>& words, const std::string& flag) {
  if (words.size() != 1)
    throw UsageError(fmt::format("{} takes one value, not {}", flag, words.size()));
  return words.front();
}

// --schedule replaces the scenario's; --chunks and --group-size go to those of several schedules
// that take them, and to a single one whatever it is, which then may refuse.
void set_schedules(config::Value& root, const po::variables_map& given) {
  const std::vector<std::string> names = values(given, "schedule");
  const config::Origin origin{.source = "--schedule"};
  if (!names.empty()) {
    config::Value list{.kind = config::Value::Kind::list, .origin = origin};
    for (const std::string& name : names) {
      config::Value map{.kind = config::Value::Kind::map, .origin = origin};
      map.entries.push_back({"name", origin, config::make_text(name, origin)});
      list.items.push_back(std::move(map));
    }
    config::set_key(root, "schedule", names.size() == 1 ? list.items.front() : list);
  }
  for (const auto& [option, key] : {std::pair{"chunks", "schedule{}.chunks"},
                                    std::pair{"group-size", "schedule{}.group_size"}}) {
    const std::vector<std::string> words = values(given, option);
    if (words.empty()) continue;
    const std::string flag = std::string("--") + option;
    const config::Value value = config::make_text(single(words, flag), {.source = flag});
    if (names.size() < 2) {
      config::set_key(root, fmt::format(fmt::runtime(key), ""), value);
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (takes_chunks(names[i]))
        config::set_key(root, fmt::format(fmt::runtime(key), fmt::format(".{}", i)), value);
  }
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

}  // namespace

std::optional<RunRequest> read_run_request(const Arguments& arguments) {
  po::options_description all = visible_options();
  all.add_options()("scenario", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "scenario");
  if (given.count("help") != 0) {
    print_help();
    return std::nullopt;
  }
  const std::optional<std::filesystem::path> file = scenario_file(given);
  config::Value root = file ? config::read_yaml_file(file->string()) : config::empty_scenario();
  const auto set = [&](const std::string& option, const char* key, bool is_list) {
    const std::vector<std::string> words = values(given, option);
    if (words.empty()) return;
    const config::Origin origin{.source = "--" + option};
    config::set_key(root, key,
                    is_list ? config::make_list(words, origin)
                            : config::make_text(single(words, origin.source), origin));
  };
  for (const KeyOption& option : key_options) set(long_name(option), option.key, option.is_list);
  set("output", "output", true);
  set_schedules(root, given);
  for (const std::string& word : values(given, "set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--set takes KEY=VALUE, not '{}'", word));
    const std::string key = word.substr(0, equals);
    config::override_key(root, key, word.substr(equals + 1), {.source = "--set " + key});
  }
  return RunRequest{.scenario = config::read_scenario(root),
                    .file = file,
                    .json = given.count("json") != 0,
                    .quiet = given.count("quiet") != 0};
}

}  // namespace pipewright::cli
