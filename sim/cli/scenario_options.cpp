#include "sim/cli/scenario_options.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/yaml.hpp"

namespace pipewright::cli {
namespace {

enum class Takes { nothing, one, list };  // nothing: the key becomes true

// An option that puts its words under a key of the scenario.
struct KeyOption {
  OptionKind kind;
  const char* option;  // long name, and short name after a comma
  const char* key;
  const char* help;
  Takes takes = Takes::one;
};
constexpr auto pipeline = OptionKind::pipeline;
constexpr auto whole = OptionKind::whole;
constexpr auto run = OptionKind::run;
constexpr std::array key_options{
    KeyOption{pipeline, "num-stages,s", "devices", "devices of the pipeline"},
    KeyOption{pipeline, "num-batches,b", "microbatches", "microbatches of an iteration"},
    KeyOption{run, "global-batch", "global_batch", "or samples of an iteration, of all replicas"},
    KeyOption{run, "model", "model", "a transformer: a name of platforms/models, or a file"},
    KeyOption{run, "gpu", "gpu", "its GPUs: a name of platforms/gpus, or a file"},
    KeyOption{run, "tp", "parallel.tp", "tensor-parallel GPUs of a device (1)"},
    KeyOption{run, "cp", "parallel.cp", "context-parallel GPUs of a device (1)"},
    KeyOption{run, "ep", "parallel.ep", "ranks that experts are spread over (1)"},
    KeyOption{run, "dp", "parallel.dp", "data-parallel replicas of the pipeline (1)"},
    KeyOption{run, "sp", "parallel.sp", "sequence parallelism over the GPUs of tp", Takes::nothing},
    KeyOption{run, "zero", "parallel.zero", "ZeRO level, 0 to 3 (0)"},
    KeyOption{run, "microbatch-size", "training.microbatch_size", "samples of a microbatch (1)"},
    KeyOption{run, "recompute-activations", "training.recompute", "none, selective or full (none)"},
    KeyOption{run, "partition", "partition", "layers of the stages: even, ends_less or by_cost"},
    KeyOption{run, "detail", "communication.detail",
              "fast: collectives inside passes are timed once; full: all simulated"},
    KeyOption{run, "seed", "variation.seed", "of random pass times (1)"},
    KeyOption{run, "iterations", "iterations", "iterations, one after the other (1)"},
    KeyOption{pipeline, "forward-times,f", "forward_times",
              "time of F: one, one per device, or one per stage", Takes::list},
    KeyOption{whole, "backward-times", "backward_times",
              "or time of B, the full backward, where nothing is split", Takes::list},
    KeyOption{pipeline, "input-grad-times", "input_grad_times",
              "time of I, the input gradient, likewise", Takes::list},
    KeyOption{pipeline, "weight-grad-times", "weight_grad_times", "time of W, the weight gradient",
              Takes::list},
    KeyOption{whole, "overlap", "overlap", "a fused F and B take this part of their sum (1),"},
    KeyOption{whole, "fused-times", "fused_times", "or this time of their own", Takes::list},
    KeyOption{pipeline, "p2p-time", "p2p_time", "time of a hop without a cluster (0)"},
    KeyOption{pipeline, "cluster", "cluster",
              "a name of platforms/clusters, or a SimGrid platform file (XML)"},
    KeyOption{run, "p2p", "p2p", "point to point: eager (default), rendezvous or blocking"},
    KeyOption{run, "engine", "engine", "simgrid (default), or timing: no contention, no SimGrid"},
    KeyOption{run, "trace", "trace", "write the trace to this HDF5 file"},
};

std::string long_name(const KeyOption& option) {
  const std::string name = option.option;
  return name.substr(0, name.find(','));
}

}  // namespace

void add_scenario_options(po::options_description& options, const std::vector<OptionKind>& kinds) {
  const auto words = [](const char* name) {
    return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
  };
  auto add = options.add_options();
  for (const KeyOption& option : key_options)
    if (std::ranges::find(kinds, option.kind) != kinds.end()) {
      if (option.takes == Takes::nothing)
        add(option.option, option.help);
      else
        add(option.option, words(option.takes == Takes::list ? "X.." : "X"), option.help);
    }
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
  for (const KeyOption& option : key_options) {
    const std::string name = long_name(option);
    if (given.count(name) == 0) continue;
    std::vector<std::string> words{"true"};
    if (option.takes != Takes::nothing) words = values(given, name);
    if (words.empty()) continue;
    const config::Origin origin{.source = "--" + name};
    config::set_key(root, option.key,
                    option.takes == Takes::list
                        ? config::make_list(words, origin)
                        : config::make_text(single(words, origin.source), origin));
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
