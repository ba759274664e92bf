#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/aliases.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/primus/primus.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::primus {
namespace {

constexpr config::Document primus_config{"a configuration of Primus", "modules", "modules: {}",
                                         true};

// Settings of primus/configs/modules/megatron/pre_trainer.yaml, and of the files that it extends,
// that differ from those of the recipes of Megatron-Bridge.
struct Preset {
  std::string_view name, value;
};
constexpr std::array presets{
    Preset{"sequence_parallel", "true"},          Preset{"use_distributed_optimizer", "true"},
    Preset{"overlap_grad_reduce", "false"},       Preset{"overlap_param_gather", "false"},
    Preset{"cross_entropy_loss_fusion", "false"}, Preset{"moe_token_dispatcher_type", "allgather"},
    Preset{"moe_permute_fusion", "false"},        Preset{"bf16", "true"},
};

// Settings of files in primus/configs/models/megatron that differ from the presets above, by the
// beginnings of the files' names, for jobs outside of a checkout. The later of two rows counts.
struct ModelPreset {
  std::string_view beginning;
  std::array<Preset, 5> settings;
};
constexpr std::array model_presets{
    ModelPreset{"llama4",
                {Preset{"moe_token_dispatcher_type", "alltoall"},
                 {"moe_permute_fusion", "true"},
                 {"moe_shared_expert_overlap", "true"}}},
    ModelPreset{"qwen",
                {Preset{"moe_token_dispatcher_type", "alltoall"}, {"moe_permute_fusion", "true"}}},
    ModelPreset{"qwen3_30B_A3B", {Preset{"bias_swiglu_fusion", "false"}}},
    ModelPreset{"qwen3_235B_A22B", {Preset{"bias_swiglu_fusion", "false"}}},
    ModelPreset{"mixtral", {Preset{"moe_token_dispatcher_type", "alltoall"}}},
    ModelPreset{"deepseek_v",
                {Preset{"apply_rope_fusion", "false"},
                 {"moe_token_dispatcher_type", "alltoall"},
                 {"moe_permute_fusion", "true"},
                 {"moe_shared_expert_overlap", "true"}}},
    ModelPreset{"gpt_oss",
                {Preset{"apply_rope_fusion", "false"},
                 {"moe_token_dispatcher_type", "alltoall"},
                 {"moe_permute_fusion", "true"},
                 {"moe_shared_expert_overlap", "true"}}},
    ModelPreset{"kimi_k2",
                {Preset{"moe_token_dispatcher_type", "alltoall"},
                 {"moe_permute_fusion", "true"},
                 {"moe_shared_expert_overlap", "true"}}},
};

// Patches of Primus that replace the schedule, and the settings that they alone read.
struct Patch {
  std::string_view name;
  std::string_view prefix;
};
constexpr std::array patches{
    Patch{"patch_zero_bubble", "enable_zero_bubble"}, Patch{"patch_zero_bubble", "zero_bubble_"},
    Patch{"patch_zero_bubble", "enable_1f1b_v"}, Patch{"patch_primus_pipeline", "pp_"}};

// The framework's settings, and where the package has the files that a configuration names.
struct Experiment {
  config::Value framework;
  config::Value config;
  config::Value model;
  std::vector<Setting> overrides;
};

using Trees = std::vector<config::Value>;

// Reads a file with the files that it extends: they come first, as a later file overrides them.
void read_extended(const Source& source, const JobWords& words, int depth, Trees& trees) {
  constexpr int deepest = 8;
  config::Value tree = read_yaml(source, primus_config, words);
  if (depth > deepest)
    throw config::Error(fmt::format("{}: files extend each other too deeply", source.name))
        .allow(fmt::format("{} files", deepest));
  for (const char* const key : {"extends", "includes", "bases"}) {
    const config::Value* const names = config::find(tree, key);
    if (names == nullptr) continue;
    std::vector<config::Value> files = names->items;
    if (names->kind == config::Value::Kind::text) files = {*names};
    for (const config::Value& file : files) {
      const std::filesystem::path path =
          std::filesystem::path(source.name).parent_path() / file.text;
      std::error_code failed;
      if (!std::filesystem::is_regular_file(path, failed))
        throw config::Error(file.origin, fmt::format("{} names the file {}, which is not beside "
                                                     "the configuration",
                                                     key, file.text))
            .suggest("put the file there");
      read_extended(read_source(path.string()), words, depth + 1, trees);
    }
    std::erase_if(tree.entries, [&](const config::Entry& entry) { return entry.key == key; });
  }
  trees.push_back(std::move(tree));
}

// File of the package, such as configs/models/megatron/llama3_8B.yaml. None if it is not there.
std::optional<std::string> preset_file(const Source& source, const JobWords& words,
                                       std::string_view type, std::string_view framework,
                                       std::string name) {
  if (!name.ends_with(".yaml") && !name.ends_with(".yml")) name += ".yaml";
  const std::filesystem::path inside =
      std::filesystem::path("primus") / "configs" / type / framework / name;
  std::vector<std::filesystem::path> folders;
  for (const auto& [variable, value] : words.variables)
    if (variable == "PRIMUS") folders.emplace_back(value);
  std::filesystem::path folder = std::filesystem::absolute(source.name).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) folders.push_back(folder);
  std::error_code failed;
  for (const std::filesystem::path& root : folders)
    if (std::filesystem::is_regular_file(root / inside, failed)) return (root / inside).string();
  return std::nullopt;
}

Experiment experiment_of(const Source& source, const JobWords& words) {
  Experiment experiment;
  Trees trees;
  read_extended(source, words, 0, trees);
  for (const config::Value& tree : trees) {
    const config::Value* const modules = config::find(tree, "modules");
    if (modules == nullptr) continue;
    for (const config::Entry& module : modules->entries) {
      for (const config::Entry& entry : module.value.entries) {
        if (entry.key == "framework") experiment.framework = entry.value;
        if (entry.key == "config") experiment.config = entry.value;
        if (entry.key == "model") experiment.model = entry.value;
        if (entry.key == "overrides") flatten(entry.value, "{}: {}", "", experiment.overrides);
      }
    }
  }
  return experiment;
}

// Settings of a file of the package; empty if the package is not there.
std::vector<Setting> preset_settings(const JobInput& input, const Source& source,
                                     std::string_view type, const Experiment& experiment,
                                     const config::Value& name) {
  std::vector<Setting> settings;
  if (name.text.empty()) return settings;
  const std::optional<std::string> file =
      preset_file(source, input.words, type, experiment.framework.text, name.text);
  if (!file) return settings;
  Trees trees;
  read_extended(read_source(*file), input.words, 0, trees);
  for (const config::Value& tree : trees) flatten(tree, "{}: {}", "", settings);
  return settings;
}

bool is_on(const std::vector<Setting>& settings, std::string_view name) {
  bool on = false;
  for (const Setting& setting : settings)
    if (setting.name == name) on = !setting.values.empty() && !is_off(setting.values.front());
  return on;
}

// Removes the settings of patches that are off, and those that a later one replaces.
void settle(std::vector<Setting>& settings) {
  for (const Patch& patch : patches)
    if (!is_on(settings, patch.name))
      std::erase_if(settings,
                    [&](const Setting& setting) { return setting.name.starts_with(patch.prefix); });
  // A patch only decides whether its settings count.
  std::erase_if(settings, [](const Setting& setting) {
    return std::ranges::find(patches, setting.name, &Patch::name) != patches.end();
  });
  std::vector<Setting> last;
  for (Setting& setting : settings | std::views::reverse)
    if (std::ranges::find(last, setting.name, &Setting::name) == last.end())
      last.push_back(std::move(setting));
  std::ranges::reverse(last);
  settings = std::move(last);
}

std::vector<nemo::Named> named_of(const std::vector<Setting>& settings) {
  std::vector<nemo::Named> named;
  for (const Setting& setting : settings)
    named.push_back({.path = setting.name,
                     .values = setting.values,
                     .written = setting.written,
                     .origin = setting.origin});
  return named;
}

// True if a setting of a framework has a meaning for a prediction.
bool is_used(const Experiment& experiment, const Setting& setting) {
  const std::string_view name = setting.name;
  const std::span<const Flag> flags =
      experiment.framework.text == "torchtitan" ? torchtitan::flags() : megatron::flags();
  return std::ranges::find(flags, name, &Flag::name) != flags.end() ||
         std::ranges::find(nemo::aliases, name, &nemo::Alias::name) != nemo::aliases.end() ||
         std::ranges::find(patches, name, &Patch::name) != patches.end();
}

// Adds what is known of a file of the package that describes a model, beside the sizes of the
// library's model, and reports the rest of the file as not modelled.
void add_model_presets(const config::Value& model, Request& request,
                       std::vector<Setting>& settings) {
  const std::string name = std::filesystem::path(model.text).stem().string();
  for (const ModelPreset& row : model_presets)
    if (name.starts_with(row.beginning))
      for (const Preset& preset : row.settings)
        if (!preset.name.empty())
          settings.push_back({.name = std::string(preset.name),
                              .values = {std::string(preset.value)},
                              .written = fmt::format("{}: {} of Primus's {}.yaml", preset.name,
                                                     preset.value, name),
                              .origin = model.origin});
  request.assumed.push_back(
      fmt::format("{}.yaml of Primus's package is not here: sizes are of the library's model {}; "
                  "PRIMUS=FOLDER names the package",
                  name, request.model));
}

// Settings of a job in the order in which a later one replaces an earlier one.
std::vector<Setting> settings_of(const JobInput& input, const Source& source,
                                 const Experiment& experiment, Request& request) {
  const bool of_megatron = experiment.framework.text == "megatron";
  std::vector<Setting> settings =
      preset_settings(input, source, "modules", experiment, experiment.config);
  // Most settings of the package are defaults without effect, which are not those of the job.
  std::erase_if(settings, [&](const Setting& setting) { return !is_used(experiment, setting); });
  if (settings.empty() && of_megatron)
    for (const Preset& preset : presets)
      settings.push_back({.name = std::string(preset.name),
                          .values = {std::string(preset.value)},
                          .written = fmt::format("{}: {} of Primus's pre_trainer.yaml", preset.name,
                                                 preset.value)});
  std::vector<Setting> model =
      preset_settings(input, source, "models", experiment, experiment.model);
  std::erase_if(model, [&](const Setting& setting) { return !is_used(experiment, setting); });
  settings.insert(settings.end(), model.begin(), model.end());
  if (model.empty() && !experiment.model.text.empty()) {
    request.model = model_named(std::filesystem::path(experiment.model.text).stem().string());
    if (request.model.empty())
      settings.push_back({.name = "model",
                          .values = {experiment.model.text},
                          .written = fmt::format("model: {} (a file of Primus's package; "
                                                 "PRIMUS=FOLDER says where the package is)",
                                                 experiment.model.text),
                          .origin = experiment.model.origin});
    else if (of_megatron)
      add_model_presets(experiment.model, request, settings);
  }
  settings.insert(settings.end(), experiment.overrides.begin(), experiment.overrides.end());
  settle(settings);
  return settings;
}

}  // namespace

bool recognise(const SourceText& file) {
  return file.is_yaml() && file.has("modules:") && file.has("framework:") &&
         (file.has("overrides:") || file.has("extends:"));
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  std::vector<Source> scripts;
  const Source* source = nullptr;
  for (const Source& file : input.sources) {
    if (recognise(SourceText(file)))
      source = &file;
    else
      scripts.push_back(file);
  }
  if (!scripts.empty()) {
    Request launched = megatron::read_files({scripts, input.words}).request;
    request.gpus = launched.gpus;
    request.gpus_from = launched.gpus_from;
    request.gpus_origin = launched.gpus_origin;
  }
  const Experiment experiment = experiment_of(*source, input.words);
  const std::string& framework = experiment.framework.text;
  if (framework != "megatron" && framework != "torchtitan")
    throw config::Error(experiment.framework.origin,
                        fmt::format("jobs of Primus with the framework {} are not read",
                                    framework.empty() ? "(none)" : framework))
        .allow("megatron, torchtitan, or a scenario with the model and parallel sizes of the job");
  request.dialect = Dialect::recipe;
  std::vector<Setting> settings = settings_of(input, *source, experiment, request);
  Job job;
  if (framework == "torchtitan") {
    request.settings = std::move(settings);
    apply_gpus(input.words, request);
    job = torchtitan::read(std::move(request));
  } else {
    const std::vector<nemo::Named> named = named_of(settings);
    nemo::translate(named, request);
    if (std::ranges::find(request.settings, "hidden_size", &Setting::name) !=
        request.settings.end())
      request.model.clear();
    apply_gpus(input.words, request);
    job = megatron::read(std::move(request));
  }
  job.framework = "primus";
  return job;
}

}  // namespace pipewright::jobs::primus
