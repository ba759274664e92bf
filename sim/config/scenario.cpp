#include "sim/config/scenario.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/library.hpp"
#include "sim/config/override.hpp"
#include "sim/config/scenario_checks.hpp"
#include "sim/config/spell_out.hpp"
#include "sim/config/yaml.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> p2p_names{"eager", "rendezvous", "blocking"};
constexpr std::array<std::string_view, 2> engine_names{"simgrid", "timing"};
constexpr std::string_view pass_time = "a pass time";

Located<std::filesystem::path> read_cluster(const Field& field) {
  const Origin& origin = field.value.origin;
  const std::string& text = read_text(field, "the path of a SimGrid platform file");
  if (is_library_name(text, ".xml")) return {library_or_path(field, "clusters", ".xml"), origin};
  const std::filesystem::path path =
      (std::filesystem::path(origin.folder) / text).lexically_normal();
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (folder || !std::filesystem::exists(path, ignored))
    throw Error(
        fmt::format("{} is {}, and {} is {}; allowed: the path of a SimGrid platform file, "
                    "from the folder of the scenario or, on a command line, the current "
                    "one",
                    subject(field), in_quotes(text), in_quotes(path.string()),
                    folder ? "a folder" : "no file"));
  return {path, origin};
}

std::vector<Located<std::string>> read_placement(const Field& field) {
  constexpr std::string_view allowed = "a list of host names, one per GPU";
  std::vector<Located<std::string>> hosts;
  for (const Field& item : items(field, allowed))
    hosts.push_back({read_text(item, "a host name of the cluster"), item.value.origin});
  return hosts;
}

Located<std::filesystem::path> read_path(const Field& field, std::string_view example) {
  return {read_text(field, fmt::format("a path such as {}", example)), field.value.origin};
}

PassTimes read_pass_times(const Field& field) {
  return {read_times(field, pass_time), field.value.origin};
}

using ScenarioKey = Key<Scenario>;

// The order is that of the canonical text. `devices` stands before the keys that need it.
constexpr std::array table{
    ScenarioKey{{.name = "cluster",
                 .help = "path of a SimGrid platform file; without it the network is ideal"},
                [](const Field& f, Scenario& s) { s.cluster = read_cluster(f); }},
    ScenarioKey{{.name = "devices",
                 .alias = "num_stages",
                 .flag = "-s/--num-stages",
                 .help = "how many pipeline devices, also parallel.pp; 1 with a model",
                 .required = true},
                [](const Field& f, Scenario& s) {
                  s.devices = {read_count(f, "8"), f.value.origin};
                }},
    ScenarioKey{{.name = "placement", .help = "host names, one per GPU; else the first hosts"},
                [](const Field& f, Scenario& s) { s.placement = read_placement(f); }},
    ScenarioKey{{.name = "microbatches",
                 .alias = "num_batches",
                 .flag = "-b/--num-batches",
                 .help = "how many microbatches an iteration has (of each replica)"},
                [](const Field& f, Scenario& s) {
                  s.microbatches = {read_count(f, "64"), f.value.origin};
                }},
    ScenarioKey{{.name = "global_batch",
                 .flag = "--global-batch",
                 .help = "or samples of an iteration, over all replicas"},
                [](const Field& f, Scenario& s) {
                  s.global_batch = {read_count(f, "1536"), f.value.origin};
                }},
    ScenarioKey{{.name = "iterations",
                 .flag = "--iterations",
                 .help = "how many iterations follow one another (1)"},
                [](const Field& f, Scenario& s) {
                  s.iterations = {read_count(f, "2"), f.value.origin};
                }},
    ScenarioKey{
        {.name = "schedule",
         .flag = "--schedule",
         .help = "a name, a .csv or .yaml file, {name, chunks, group_size}, or a list (1f1b)"},
        [](const Field& f, Scenario& s) { s.schedules = read_schedules(f); }},
    ScenarioKey{{.name = "model",
                 .flag = "--model",
                 .help = "a transformer: a name of platforms/models, a file, or a map"},
                [](const Field& f, Scenario& s) {
                  s.model = {read_model(f), f.value.origin};
                }},
    ScenarioKey{{.name = "gpu",
                 .flag = "--gpu",
                 .help = "a name of platforms/gpus, a file, or a map; else the cluster's"},
                [](const Field& f, Scenario& s) { s.gpu = read_gpu(f); }},
    ScenarioKey{{.name = "parallel", .help = "how ranks are cut: tp, cp, ep, dp and pp, a map"},
                [](const Field& f, Scenario& s) { s.parallel = read_parallel(f); }},
    ScenarioKey{{.name = "partition",
                 .flag = "--partition",
                 .help = "layers of the stages: even, ends_less, by_cost, or a list (even)"},
                [](const Field& f, Scenario& s) { s.partition = read_partition(f); }},
    ScenarioKey{{.name = "training", .help = "microbatch, sequence, recomputation, state"},
                [](const Field& f, Scenario& s) { s.training = read_training(f); }},
    ScenarioKey{{.name = "communication", .help = "who talks when, and by which algorithm"},
                [](const Field& f, Scenario& s) { s.communication = read_communication(f); }},
    ScenarioKey{{.name = "variation", .help = "jitter, stragglers, slow links"},
                [](const Field& f, Scenario& s) { s.variation = read_variation(f); }},
    ScenarioKey{
        {.name = "symmetric", .help = "simulate one replica for all: true or false (false)"},
        [](const Field& f, Scenario& s) { s.symmetric = read_flag(f); }},
    ScenarioKey{
        {.name = "layer_times", .help = "measured times of the model's layers, above what it says"},
        [](const Field& f, Scenario& s) {
          s.layer_times = {read_layer_times(f), f.value.origin};
        }},
    ScenarioKey{{.name = "forward_times",
                 .flag = "-f/--forward-times",
                 .help = "time of F: one, one per device, or one per stage"},
                [](const Field& f, Scenario& s) { s.forward_times = read_pass_times(f); }},
    ScenarioKey{{.name = "backward_times",
                 .flag = "--backward-times",
                 .help = "time of the full backward pass B, likewise"},
                [](const Field& f, Scenario& s) { s.backward_times = read_pass_times(f); }},
    ScenarioKey{{.name = "input_grad_times",
                 .flag = "--input-grad-times",
                 .help = "time of I, the backward pass of the input, likewise"},
                [](const Field& f, Scenario& s) { s.input_grad_times = read_pass_times(f); }},
    ScenarioKey{{.name = "weight_grad_times",
                 .flag = "--weight-grad-times",
                 .help = "time of W, the backward pass of the weights, likewise"},
                [](const Field& f, Scenario& s) { s.weight_grad_times = read_pass_times(f); }},
    ScenarioKey{{.name = "overlap",
                 .flag = "--overlap",
                 .help = "a fused forward and backward take this part of their sum (1)"},
                [](const Field& f, Scenario& s) {
                  s.overlap = read_positive_number(f, "a part such as 0.8");
                }},
    ScenarioKey{{.name = "fused_times",
                 .flag = "--fused-times",
                 .help = "or their own time, by the forward's device or stage"},
                [](const Field& f, Scenario& s) { s.fused_times = read_pass_times(f); }},
    ScenarioKey{{.name = "p2p_time",
                 .flag = "--p2p-time",
                 .help = "time of a hop on the ideal network (0)"},
                [](const Field& f, Scenario& s) { s.p2p_time = read_time(f, "a hop's latency"); }},
    ScenarioKey{{.name = "boundary_tensor", .help = "bytes that one stage sends the next (0)"},
                [](const Field& f, Scenario& s) {
                  s.boundary_tensor = read_size(f, "the size of a boundary tensor");
                }},
    ScenarioKey{
        {.name = "activation", .help = "activation memory per device"},
        [](const Field& f, Scenario& s) { s.activation = read_activation(f, s.devices.value); }},
    ScenarioKey{{.name = "state", .help = "memory held for the whole run per device"},
                [](const Field& f, Scenario& s) { s.state = read_state(f, s.devices.value); }},
    ScenarioKey{{.name = "samples_per_microbatch", .help = "for throughput in samples/s"},
                [](const Field& f, Scenario& s) {
                  s.samples_per_microbatch = read_positive_number(f, "a number of samples");
                }},
    ScenarioKey{{.name = "tokens_per_microbatch", .help = "for throughput in tokens/s"},
                [](const Field& f, Scenario& s) {
                  s.tokens_per_microbatch = read_positive_number(f, "a number of tokens");
                }},
    ScenarioKey{
        {.name = "p2p", .help = "eager, rendezvous or blocking transfers (eager)"},
        [](const Field& f, Scenario& s) { s.p2p = static_cast<P2p>(read_choice(f, p2p_names)); }},
    ScenarioKey{{.name = "engine", .flag = "--engine", .help = "simgrid or timing (simgrid)"},
                [](const Field& f, Scenario& s) {
                  s.engine = static_cast<Engine>(read_choice(f, engine_names));
                }},
    ScenarioKey{{.name = "output",
                 .alias = "output_file",
                 .flag = "-o/--output",
                 .help = "path or list of paths of pictures and reports"},
                [](const Field& f, Scenario& s) {
                  for (const Field& item : items(f, "a path or a list of paths"))
                    s.outputs.push_back(read_path(item, "run.html"));
                }},
    ScenarioKey{{.name = "trace", .flag = "--trace", .help = "path of the trace to write"},
                [](const Field& f, Scenario& s) { s.trace = read_path(f, "run.h5"); }},
};

const KeyInfo* find_key(std::string_view name) {
  for (const ScenarioKey& key : table)
    if (key.info.name == name || (!key.info.alias.empty() && key.info.alias == name))
      return &key.info;
  return nullptr;
}

// The pipeline's devices may stand with the other parallel sizes, as parallel.pp, and are 1 as
// those are where a model is given without.
Value with_devices(const Value& given) {
  Value root = given;
  const Value* devices = find(root, "devices");
  if (devices == nullptr) devices = find(root, "num_stages");
  Value* const parallel = find(root, "parallel");
  if (parallel != nullptr && parallel->kind == Value::Kind::map) {
    const auto pp = std::ranges::find_if(parallel->entries, [](const Entry& entry) {
      return entry.key == "pp" || entry.key == "pipeline";
    });
    if (pp != parallel->entries.end()) {
      if (devices != nullptr)
        throw Error(locate(pp->origin,
                           fmt::format("parallel.{} is another name of {}, which is given at {}; "
                                       "leave out one of them",
                                       pp->key, find(root, "devices") ? "devices" : "num_stages",
                                       to_string(devices->origin))));
      Entry entry{"devices", pp->origin, pp->value};
      parallel->entries.erase(pp);
      root.entries.push_back(std::move(entry));
      return root;
    }
  }
  const Value* const model = find(root, "model");
  if (devices == nullptr && model != nullptr)
    root.entries.push_back({"devices", model->origin, make_text("1", model->origin)});
  return root;
}

Value canonical(const Value& root, const Scenario& scenario) {
  Value tree;
  tree.origin = root.origin;
  for (const ScenarioKey& key : table) {
    if (key.info.name == "output" || key.info.name == "trace") continue;
    for (const Entry& entry : root.entries)
      if (find_key(entry.key) == &key.info)
        tree.entries.push_back({std::string(key.info.name), entry.origin, entry.value});
  }
  // A name of the library says the same everywhere.
  if (Value* const cluster = find(tree, "cluster");
      cluster && !is_library_name(cluster->text, ".xml")) {
    cluster->text = scenario.cluster->value.string();
    cluster->origin.folder.clear();
  }
  for (const char* key : {"model", "gpu"})
    if (Value* const named = find(tree, key)) spell_out_file(*named, key);
  if (Value* const schedule = find(tree, "schedule"))
    resolve_schedules(*schedule, scenario.schedules);
  return tree;
}

std::string make_title(const Value& root, const Scenario& scenario) {
  if (root.origin.line > 0) return std::filesystem::path(root.origin.source).stem().string();
  std::vector<std::string_view> names;
  for (const ScheduleSpec& spec : scenario.schedules) names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Value empty_scenario() { return {}; }

void set_key(Value& root, std::string_view path, Value value) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  std::string full(path);
  if (const KeyInfo* const key = find_key(path.substr(0, dot))) {
    // The name that the scenario uses already, if it does.
    const bool other = !key->alias.empty() && find(root, key->alias) != nullptr;
    full = std::string(other ? key->alias : key->name).append(path.substr(dot));
    if (Value* const whole = find(root, key->name); whole != nullptr && dot < path.size())
      spell_out(*whole, key->name);
  }
  set_value(root, full, std::move(value));
}

void override_key(Value& root, std::string_view path, std::string_view text, const Origin& origin) {
  set_key(root, path, read_yaml_value(text, origin));
}

Scenario read_scenario(const Value& given) {
  Scenario scenario;
  const Value root = with_devices(given);
  read_keys<Scenario>({root, ""}, table, scenario);
  scenario.parallel.pp = scenario.devices;
  if (scenario.schedules.empty()) scenario.schedules.push_back({.name = "1f1b"});
  check_scenario(scenario, root);
  scenario.tree = canonical(root, scenario);
  scenario.text = to_yaml(scenario.tree);
  scenario.title = make_title(root, scenario);
  return scenario;
}

std::string_view to_string(P2p mode) { return p2p_names.at(static_cast<std::size_t>(mode)); }
std::string_view to_string(Engine engine) {
  return engine_names.at(static_cast<std::size_t>(engine));
}

std::vector<KeyHelp> scenario_keys() {
  std::vector<KeyHelp> keys;
  for (const ScenarioKey& key : table) {
    const std::string name(key.info.name);
    keys.push_back({name, key.info});
    const std::vector<KeyInfo> inner = name == "schedule"        ? schedule_keys()
                                       : name == "activation"    ? activation_keys()
                                       : name == "state"         ? state_keys()
                                       : name == "layer_times"   ? layer_times_keys()
                                       : name == "parallel"      ? parallel_keys()
                                       : name == "training"      ? training_keys()
                                       : name == "communication" ? communication_keys()
                                       : name == "variation"     ? variation_keys()
                                       : name == "gpu"           ? gpu_keys()
                                                                 : std::vector<KeyInfo>{};
    if (name == "model")
      for (const ModelKey& key_of_model : model_keys())
        keys.push_back({fmt::format("{}.{}", name, key_of_model.name), key_of_model.info});
    for (const KeyInfo& info : inner) keys.push_back({fmt::format("{}.{}", name, info.name), info});
  }
  return keys;
}

}  // namespace pipewright::config
