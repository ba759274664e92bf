#include "sim/config/scenario.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/config/key_named.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/model_tree.hpp"
#include "sim/config/post_training.hpp"
#include "sim/config/sites.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 2> engine_names{"simgrid", "timing"};

std::filesystem::path read_cluster(const Field& field) {
  constexpr std::string_view allowed = "the path of a SimGrid platform file";
  if (is_library_name(read_text(field, allowed), ".xml"))
    return library_or_path(field, "clusters", ".xml");
  return existing_path(field, allowed);
}

std::filesystem::path read_trace(const Field& field) {
  return read_text(field, "a path such as run.h5");
}

std::vector<Located<std::filesystem::path>> read_outputs(const Field& field) {
  std::vector<Located<std::filesystem::path>> paths;
  for (const Field& item : items(field, "a path or a list of paths"))
    paths.push_back({read_text(item, "a path such as run.html"), item.value.origin});
  return paths;
}

template <auto member>
constexpr auto pass_times = times<member, "a pass time">;

using ScenarioKey = Key<Scenario>;

// Keys of a scenario, in the order in which they are read and written. `devices` comes before the
// keys that need it.
constexpr std::array scenario_table{
    ScenarioKey{{.name = "cluster",
                 .flag = "--cluster",
                 .help = "cluster: a name in platforms/clusters or a SimGrid platform file (XML); "
                         "default: an ideal network"},
                into<&Scenario::cluster, read_cluster>({ValueType::library})},
    ScenarioKey{
        {.name = "devices",
         .alias = "num_stages",
         .flag = "-s/--num-stages",
         .help = "number of pipeline devices, the same as parallel.pp; default with a model: 1",
         .required = true},
        count<&Scenario::devices>},
    ScenarioKey{
        {.name = "placement",
         .help = "placement of ranks: host names, one per GPU, or the number of GPUs to use in "
                 "each NVLink domain"},
        into<&Scenario::placement, read_placement>({ValueType::text, true, {}, placement_keys})},
    ScenarioKey{{.name = "microbatches",
                 .alias = "num_batches",
                 .flag = "-b/--num-batches",
                 .help = "number of microbatches per iteration and replica"},
                count<&Scenario::microbatches, "64">},
    ScenarioKey{{.name = "global_batch",
                 .flag = "--global-batch",
                 .help = "batch of an iteration over all replicas, instead of microbatches",
                 .unit = "samples"},
                count<&Scenario::global_batch, "1536">},
    ScenarioKey{{.name = "iterations",
                 .flag = "--iterations",
                 .help = "number of consecutive iterations",
                 .default_value = "1"},
                count<&Scenario::iterations, "2">},
    ScenarioKey{
        {.name = "schedule",
         .flag = "--schedule",
         .help = "pipeline schedule: a name, a .csv or .yaml file, {name, chunks, group_size}, or "
                 "a list",
         .default_value = "1f1b"},
        into<&Scenario::schedules, read_schedules>({ValueType::schedule, true, {}, schedule_keys})},
    ScenarioKey{{.name = "model",
                 .flag = "--model",
                 .help = "transformer model: a name in platforms/models, a file, a Hugging Face "
                         "config.json or its folder, or a map"},
                into<&Scenario::model, read_model>({ValueType::library, false, {}, model_keys})},
    ScenarioKey{
        {.name = "gpu",
         .flag = "--gpu",
         .help =
             "GPU: a name in platforms/gpus, a file, or a map; default: the GPUs of the cluster"},
        into<&Scenario::gpu, read_gpu>({ValueType::library, false, {}, gpu_keys})},
    ScenarioKey{{.name = "stack",
                 .flag = "--stack",
                 .help = "software of the job: a name in platforms/stacks, a file, or a map",
                 .default_value = default_stack},
                {[](const Field&, Scenario&) {}, {ValueType::library, false, {}, stack_keys}}},
    ScenarioKey{{.name = "parallel", .help = "parallel sizes: tp, cp, ep, dp, pp and ZeRO"},
                section<&Scenario::parallel, read_parallel, parallel_keys>},
    ScenarioKey{{.name = "partition",
                 .flag = "--partition",
                 .help = "distribution of layers over stages; a list, a map, a layout such as "
                         "Et*3|(t*4|)*2tL, or a rule",
                 .default_value = "even"},
                into<&Scenario::partition, read_partition>(
                    {ValueType::choice, true, partition_rules, partition_keys})},
    ScenarioKey{{.name = "training",
                 .help = "training: microbatch, sequence, precision, recomputation, optimizer"},
                section<&Scenario::training, read_training, training_keys>},
    ScenarioKey{{.name = "modules", .help = "modules beside the language model: vision"},
                section<&Scenario::modules, read_modules, modules_keys>},
    ScenarioKey{{.name = "communication", .help = "collectives: order, overlap and algorithms"},
                section<&Scenario::communication, read_communication, communication_keys>},
    ScenarioKey{{.name = "variation", .help = "variation: jitter, stragglers, slow links"},
                section<&Scenario::variation, read_variation, variation_keys>},
    ScenarioKey{
        {.name = "goodput",
         .help =
             "failures, checkpoints and spares of a long training run, for 'pipewright goodput'"},
        section<&Scenario::goodput, read_goodput, goodput_keys>},
    // The next two sections are for one command each, which reads them from the tree.
    ScenarioKey{{.name = "rl",
                 .help = "generation, training and weight synchronisation of reinforcement "
                         "learning, for 'pipewright rl'"},
                {[](const Field& field, Scenario&) { read_post_training(field); },
                 {ValueType::map, false, {}, post_training_keys}}},
    ScenarioKey{{.name = "sites",
                 .help = "training over several sites that average weights every few "
                         "iterations, for 'pipewright sites'"},
                {[](const Field& field, Scenario&) { read_sites(field); },
                 {ValueType::map, false, {}, sites_keys}}},
    ScenarioKey{{.name = "symmetric",
                 .flag = "--symmetric",
                 .help = "simulate one replica of each kind in place of all",
                 .default_value = "false"},
                flag<&Scenario::symmetric>},
    ScenarioKey{{.name = "layer_times",
                 .help = "measured times of the model's layers, instead of computed ones"},
                section<&Scenario::layer_times, read_layer_times, layer_times_keys>},
    ScenarioKey{
        {.name = "forward_times",
         .flag = "-f/--forward-times",
         .help = "time of the forward pass F: a single time, one per device, or one per stage"},
        pass_times<&Scenario::forward_times>},
    ScenarioKey{
        {.name = "backward_times",
         .flag = "--backward-times",
         .help =
             "time of the full backward pass B: a single time, one per device, or one per stage"},
        pass_times<&Scenario::backward_times>},
    ScenarioKey{{.name = "input_grad_times",
                 .flag = "--input-grad-times",
                 .help = "time of I, the backward pass of the input: a single time, one per "
                         "device, or one per stage"},
                pass_times<&Scenario::input_grad_times>},
    ScenarioKey{{.name = "weight_grad_times",
                 .flag = "--weight-grad-times",
                 .help = "time of W, the backward pass of the weights: a single time, one per "
                         "device, or one per stage"},
                pass_times<&Scenario::weight_grad_times>},
    ScenarioKey{{.name = "output_times",
                 .flag = "--output-times",
                 .help = "time of S, the output layer of a split vocabulary: a single time, or one "
                         "per device",
                 .default_value =
                     "time of the model; 0 without a model, when F and B include the output layer"},
                pass_times<&Scenario::output_times>},
    ScenarioKey{{.name = "output_grad_times",
                 .flag = "--output-grad-times",
                 .help = "time of T, the gradients of the output layer of a split vocabulary: a "
                         "single time, or one per device",
                 .default_value =
                     "time of the model; 0 without a model, when F and B include the output layer"},
                pass_times<&Scenario::output_grad_times>},
    ScenarioKey{{.name = "overlap",
                 .flag = "--overlap",
                 .help = "time of a fused forward and backward pass, relative to their sum",
                 .default_value = "1; with a model: from its two streams"},
                number<&Scenario::overlap, "a part such as 0.8">},
    ScenarioKey{{.name = "fused_times",
                 .flag = "--fused-times",
                 .help = "time of a fused forward and backward pass, by the device or stage of the "
                         "forward pass"},
                pass_times<&Scenario::fused_times>},
    ScenarioKey{{.name = "pass_overhead",
                 .flag = "--pass-overhead",
                 .help = "overhead between passes, added to every given time of a pass",
                 .default_value = "0"},
                time<&Scenario::pass_overhead, "an overhead">},
    ScenarioKey{{.name = "p2p_time",
                 .flag = "--p2p-time",
                 .help = "latency of a hop on the ideal network",
                 .default_value = "0"},
                time<&Scenario::p2p_time, "a latency">},
    ScenarioKey{{.name = "boundary_tensor",
                 .help = "bytes that a stage sends to the next for each microbatch",
                 .default_value = "0"},
                size<&Scenario::boundary_tensor, "the size of a boundary tensor">},
    ScenarioKey{
        {.name = "activation", .help = "activation memory of a device"},
        {[](const Field& f, Scenario& s) { s.activation = read_activation(f, s.devices.value); },
         {ValueType::map, false, {}, activation_keys}}},
    ScenarioKey{
        {.name = "state", .help = "memory of a device for weights, gradients and optimizer state"},
        {[](const Field& f, Scenario& s) { s.state = read_state(f, s.devices.value); },
         {ValueType::map, false, {}, state_keys}}},
    ScenarioKey{{.name = "samples_per_microbatch",
                 .help = "samples per microbatch, for throughput in samples/s",
                 .unit = "samples"},
                number<&Scenario::samples_per_microbatch, "a number of samples">},
    ScenarioKey{{.name = "tokens_per_microbatch",
                 .help = "tokens per microbatch, for throughput in tokens/s",
                 .unit = "tokens"},
                number<&Scenario::tokens_per_microbatch, "a number of tokens">},
    ScenarioKey{{.name = "p2p",
                 .flag = "--p2p",
                 .help = "protocol of point-to-point transfers",
                 .default_value = "eager"},
                choice<&Scenario::p2p, schedules::p2p_names>},
    ScenarioKey{{.name = "engine",
                 .flag = "--engine",
                 .help = "simulation engine (timing ignores contention)",
                 .default_value = "simgrid"},
                choice<&Scenario::engine, engine_names>},
    ScenarioKey{{.name = "output",
                 .alias = "output_file",
                 .flag = "-o/--output",
                 .help = "paths of pictures and reports to write"},
                into<&Scenario::outputs, read_outputs>({ValueType::path, true})},
    ScenarioKey{{.name = "trace", .flag = "--trace", .help = "path of the HDF5 trace to write"},
                into<&Scenario::trace, read_trace>({ValueType::path})},
};

const KeyInfo* find_key(std::string_view name) {
  for (const ScenarioKey& key : scenario_table)
    if (key.info.name == name || (!key.info.alias.empty() && key.info.alias == name))
      return &key.info;
  return nullptr;
}

// Adds the key `devices` to a scenario that lacks it. Its value comes from parallel.pp, which is
// removed, or from the length of tp_by_device, or is 1 if there is a model.
Value with_devices(const Value& scenario) {
  Value root = scenario;
  const Value* devices = find(root, "devices");
  if (devices == nullptr) devices = find(root, "num_stages");
  Value* const parallel = find(root, "parallel");
  if (parallel != nullptr && parallel->kind == Value::Kind::map) {
    const auto pp = std::ranges::find_if(parallel->entries, [](const Entry& entry) {
      return entry.key == "pp" || entry.key == "pipeline";
    });
    if (pp != parallel->entries.end()) {
      if (devices != nullptr)
        throw Error(pp->origin,
                    fmt::format("parallel.{} is another name of {}, which is given at {}", pp->key,
                                find(root, "devices") ? "devices" : "num_stages",
                                to_string(devices->origin)))
            .suggest("leave out one of them");
      Entry entry{"devices", pp->origin, pp->value};
      parallel->entries.erase(pp);
      root.entries.push_back(std::move(entry));
      return root;
    }
  }
  if (devices != nullptr) return root;
  const Value* const sizes = parallel != nullptr && parallel->kind == Value::Kind::map
                                 ? find(*parallel, "tp_by_device")
                                 : nullptr;
  if (sizes != nullptr && !sizes->items.empty()) {
    const Origin& origin = sizes->origin;
    root.entries.push_back(
        {"devices", origin, make_text(std::to_string(sizes->items.size()), origin)});
    return root;
  }
  const Value* const model = find(root, "model");
  if (model != nullptr)
    root.entries.push_back({"devices", model->origin, make_text("1", model->origin)});
  return root;
}

// Returns the name that a scenario uses for its number of devices if `path` is any of that key's
// names; other paths stay as they are.
std::string_view actual_path(const Value& root, std::string_view path) {
  constexpr std::array<std::string_view, 4> names{"devices", "num_stages", "parallel.pp",
                                                  "parallel.pipeline"};
  if (std::ranges::find(names, path) == names.end()) return path;
  const Value* const parallel = find(root, "parallel");
  for (const std::string_view name : names) {
    const std::size_t dot = name.find('.');
    const Value* const map = dot == std::string_view::npos ? &root : parallel;
    if (map != nullptr && map->kind == Value::Kind::map &&
        find(*map, name.substr(dot + 1)) != nullptr)
      return name;
  }
  return path;
}

// Replaces a model, GPU or stack (`key`) that is given by a name, a path or a Hugging Face config
// by the map of its keys, so that the result is independent of the current folder.
void spell_out_file(Value& named, std::string_view key) {
  const bool is_foreign = key == "model" && is_config(named);
  const bool inherits = key == "stack" && find(named, "like") != nullptr;
  if (named.kind != Value::Kind::text && !is_foreign && !inherits) return;
  const Field field{named, std::string(key)};
  Value map = key == "model" ? named_model_tree(field)
              : key == "gpu" ? named_gpu_tree(field)
                             : named_stack_tree(field);
  map.origin = named.origin;
  named = std::move(map);
}

// Replaces an encoder of images that is given by the name of its model by a map, and completes the
// path of a file of image sizes.
void spell_out_vision(Value& vision, const Scenario& scenario) {
  if (Value* const model = find(vision, "model");
      model != nullptr && (model->kind == Value::Kind::text || is_config(*model))) {
    const Value map = named_model_tree({*model, "modules.vision.model"});
    *model = *find(map, "vision");
  }
  if (!scenario.modules.vision->patches.file) return;
  Value* const tokens = find(vision, "tokens") ? find(vision, "tokens") : find(vision, "patches");
  Value& file = *find(*tokens, "file");
  file.text = scenario.modules.vision->patches.file->string();
  file.origin.folder.clear();
}

// Replaces a name by a map that has it under a key.
void spell_out_name(Value& name, std::string_view key) {
  if (name.kind != Value::Kind::text) return;
  Value map;
  map.origin = name.origin;
  map.entries.push_back({std::string(key), name.origin, std::move(name)});
  name = std::move(map);
}

// Replaces recipes that are only names by maps of modules, so that types of modules can be set.
void spell_out_precision(Value& root) {
  Value* const training = find(root, "training");
  Value* const precision = training == nullptr ? nullptr : find(*training, "precision");
  if (precision == nullptr) return;
  for (Value& item : precision->items) spell_out_name(item, "default");
  spell_out_name(*precision, "default");
}

// Replaces a model, GPU or schedule that is given by a name or a path by a map, so that keys within
// it can be set.
void spell_out(Value& whole, std::string_view key) {
  const bool is_file = key == "model" || key == "gpu" || key == "stack";
  if (!is_file && key != "schedule") return;
  for (Value& item : whole.items) spell_out(item, key);
  if (is_file)
    spell_out_file(whole, key);
  else
    spell_out_name(whole, "name");
}

Value canonical(const Value& root, const Scenario& scenario) {
  Value tree;
  tree.origin = root.origin;
  for (const ScenarioKey& key : scenario_table) {
    if (key.info.name == "output" || key.info.name == "trace") continue;
    for (const Entry& entry : root.entries)
      if (find_key(entry.key) == &key.info)
        tree.entries.push_back({std::string(key.info.name), entry.origin, entry.value});
  }
  // Cluster files outside the library get a full path, so that the text is independent of the
  // current folder.
  if (Value* const cluster = find(tree, "cluster");
      cluster && !is_library_name(cluster->text, ".xml")) {
    cluster->text = scenario.cluster->value.string();
    cluster->origin.folder.clear();
  }
  if (scenario.training.lengths && scenario.training.lengths->file) {
    Value& file = *find(*find(*find(tree, "training"), "lengths"), "file");
    file.text = scenario.training.lengths->file->string();
    file.origin.folder.clear();
  }
  for (const char* key : {"model", "gpu", "stack"})
    if (Value* const named = find(tree, key)) spell_out_file(*named, key);
  if (scenario.modules.vision) spell_out_vision(*find(*find(tree, "modules"), "vision"), scenario);
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

void set_key(Value& root, std::string_view name, Value value) {
  const std::string_view path = actual_path(root, name);
  const std::size_t dot = std::min(path.find('.'), path.size());
  std::string full(path);
  if (const KeyInfo* const key = find_key(path.substr(0, dot))) {
    // Sets the value under the key's alias if the scenario already uses the alias.
    const bool has_alias = !key->alias.empty() && find(root, key->alias) != nullptr;
    full = std::string(has_alias ? key->alias : key->name).append(path.substr(dot));
    if (full == "stack.like")
      throw Error(value.origin,
                  "stack.like cannot be set alone, as the stack of the scenario has all keys")
          .suggest(
              "name another stack, such as --stack torchtitan, or set the whole map: "
              "stack={like: torchtitan, attention: [cudnn]}");
    if (key->name == "stack" && dot < path.size()) root = with_default_stack(std::move(root));
    if (Value* const whole = find(root, key->name); whole != nullptr && dot < path.size())
      spell_out(*whole, key->name);
    if (full.starts_with("training.precision.")) spell_out_precision(root);
  }
  set_value(root, full, std::move(value));
}

void override_key(Value& root, std::string_view path, std::string_view text, const Origin& origin) {
  set_key(root, path, read_yaml_value(text, origin));
}

namespace {

// Sets how a stack gathers weights where a scenario leaves it open.
void set_gather_defaults(const Stack& stack, Parallel& parallel) {
  if (!parallel.max_unsharded_stages) parallel.max_unsharded_stages = stack.max_unsharded_stages;
  if (!parallel.unshard_lookahead)
    parallel.unshard_lookahead = UnshardLookahead{.rule = stack.unshard_lookahead, .by_device = {}};
  if (!parallel.gather_ahead) parallel.gather_ahead = stack.gather_ahead;
}

// Throws an Error for a key that stands outside its section, such as tp instead of parallel.tp, and
// for a scenario that describes nothing to compute.
void check_sections(const Value& root) {
  if (root.kind != Value::Kind::map) return;
  std::vector<std::string_view> names;
  for (const ScenarioKey& key : scenario_table) names.push_back(key.info.name);
  for (const Entry& entry : root.entries) {
    if (find_key(entry.key) != nullptr) continue;
    if (!nearest_name(entry.key, names).empty()) return;  // the reader of the keys reports it
    if (const std::string key = key_named(entry.key, scenario_keys()); !key.empty())
      throw Error(entry.origin, fmt::format("unknown key {}", in_quotes(entry.key)), entry.key)
          .suggest_name(key);
  }
  const auto has = [&](std::string_view key) { return find(root, key) != nullptr; };
  if (has("model") || has("devices") || has("num_stages") || has("forward_times")) return;
  Origin place = root.origin;
  place.line = 0;
  throw Error(place, "the scenario has neither a model nor times of passes", "model")
      .suggest("give a model, such as --model llama-3-8b, or devices and forward_times");
}

}  // namespace

Scenario read_scenario(const Value& written) {
  if (const Value* const search = find(written, "search"))
    throw Error(search->origin, "the section search makes this file a sweep", "search")
        .suggest("run it with 'pipewright search', or leave out the section");
  Scenario scenario;
  Value root = with_devices(written);
  check_sections(root);
  Value complete = root;
  if (find(root, "model") != nullptr || find(root, "stack") != nullptr) {
    root = with_default_stack(std::move(root));
    const Value stack = named_stack_tree({*find(root, "stack"), "stack"});
    // Faults of the stack are found before its defaults are read as keys of the scenario.
    Stack software = read_stack({stack, "stack"});
    complete = with_stack_defaults(root, stack);
    read_keys<Scenario>({complete, ""}, scenario_table, scenario);
    set_stack(scenario.training, complete, std::move(software));
    set_gather_defaults(scenario.training.stack, scenario.parallel);
  } else {
    read_keys<Scenario>({complete, ""}, scenario_table, scenario);
  }
  scenario.parallel.pp = scenario.devices;
  if (scenario.schedules.empty()) scenario.schedules.push_back({.name = "1f1b"});
  check_scenario(scenario, complete);
  scenario.tree = canonical(root, scenario);
  scenario.text = to_yaml(scenario.tree);
  scenario.title = make_title(root, scenario);
  return scenario;
}

std::string_view to_string(Engine engine) { return base::name_of(engine_names, engine); }

std::vector<KeyRow> scenario_keys() { return rows_of(scenario_table); }

}  // namespace pipewright::config
