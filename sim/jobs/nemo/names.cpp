#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/letters.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/aliases.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs::nemo {
namespace {

std::string last_part(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// True if Megatron-LM has a flag of the same name.
bool is_flag_already(const std::string& name) {
  return std::ranges::find(megatron::flags(), std::string_view(name), &Flag::name) !=
         megatron::flags().end();
}

void add_setting(Request& request, const Named& from, std::string_view flag, std::string value) {
  request.settings.push_back({.name = std::string(flag),
                              .values = {std::move(value)},
                              .written = from.written,
                              .origin = from.origin});
}

// Name of Megatron-LM's flag for a name of a configuration.
std::string_view flag_name_of(std::string_view name) {
  const auto alias = std::ranges::find(aliases, name, &Alias::name);
  return alias == aliases.end() ? name : alias->flag;
}

// Reads a precision recipe by its name, such as "bf16_with_fp8_current_scaling_mixed" or "fp8_cs".
void read_precision(const Named& from, Request& request) {
  const std::string name = base::letters_and_digits(from.values.empty() ? "" : from.values.front());
  // A later recipe replaces an earlier one.
  if (from.path.ends_with("mixed_precision"))
    std::erase_if(request.settings, [](const Setting& setting) {
      return setting.name == "fp8_format" || setting.name == "fp8_recipe" ||
             setting.name == "fp4_format" || setting.name == "bf16" || setting.name == "fp16" ||
             setting.name == "first_last_layers_bf16" ||
             setting.name == "num_layers_at_start_in_bf16" ||
             setting.name == "num_layers_at_end_in_bf16";
    });
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const auto eight = [&](std::string_view recipe) {
    add_setting(request, from, "fp8_format", "hybrid");
    add_setting(request, from, "fp8_recipe", std::string(recipe));
  };
  // Layers in bf16 of Megatron-Bridge's recipes (training/mixed_precision.py).
  const auto plain_layers = [&](std::string_view start, std::string_view end) {
    add_setting(request, from, "first_last_layers_bf16", "true");
    add_setting(request, from, "num_layers_at_start_in_bf16", std::string(start));
    add_setting(request, from, "num_layers_at_end_in_bf16", std::string(end));
  };
  if (has("nvfp4")) {
    add_setting(request, from, "fp4_format", "e2m1");
    if (has("nemotron3super")) plain_layers("0", "14");
  } else if (has("mxfp8") || has("fp8mx"))
    eight("mxfp8");
  else if (has("subchannel") || has("fp8sc") || has("blockwise"))
    eight("blockwise");
  else if (has("currentscaling") || has("fp8cs")) {
    const std::string_view layers = has("nemotron") || has("nanov2") ? "2" : "1";
    eight("tensorwise");
    plain_layers(layers, layers);
  } else if (has("fp8"))
    eight("delayed");
  else if (has("bf16"))
    add_setting(request, from, "bf16", "true");
  else if (has("16"))
    add_setting(request, from, "fp16", "true");
  else
    request.settings.push_back({.name = "mixed_precision",
                                .values = from.values,
                                .written = from.written,
                                .origin = from.origin});
}

// Sizes without which the layout and the batch of a job are not known.
constexpr std::array<std::string_view, 7> sizes_of_layout{
    "tensor_model_parallel_size", "pipeline_model_parallel_size",
    "context_parallel_size",      "virtual_pipeline_model_parallel_size",
    "expert_model_parallel_size", "micro_batch_size",
    "global_batch_size"};

// Adds a note about an attribute whose value only a running recipe can compute. Throws
// config::Error if the layout depends on the value.
void add_unknown(const Setting& setting, const std::string& reason, Request& request) {
  if (std::ranges::find(sizes_of_layout, std::string_view(setting.name)) != sizes_of_layout.end())
    throw config::Error(
        config::locate(setting.origin, fmt::format("{}: the value is not known, because of {}",
                                                   setting.written, reason)))
        .suggest("write the number into the file, or give an override");
  request.not_followed.push_back(
      {.text = setting.written,
       .origin = setting.origin,
       .why = fmt::format("the value is not known, because of {}", reason)});
}

// Returns whether a name is the variable of PyTorch's allocator.
bool is_allocator(std::string_view name) {
  return name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF";
}

// Reads entries whose names do not correspond to exactly one flag. Returns whether `name` is such a
// name.
bool read_special(const Named& entry, const std::string& name, Request& request) {
  const std::string value = entry.values.empty() ? "" : entry.values.front();
  if (name == "mixed_precision" || name == "precision" || name == "compute_dtype") {
    read_precision(entry, request);
    return true;
  }
  if (name == "fp8" || name == "fp8_hybrid" || name == "FP8") {
    if (name != "fp8_hybrid" && !is_off(value)) add_setting(request, entry, "fp8_format", "hybrid");
    return true;
  }
  if (name == "fp4" || name == "fp4_recipe") {
    if (name == "fp4" && !is_off(value)) add_setting(request, entry, "fp4_format", value);
    return true;
  }
  if (name == "activation" || name == "activation_func") {
    const std::string kind = base::letters_and_digits(value);
    const bool is_gated = kind.find("glu") != std::string::npos;
    add_setting(request, entry, is_gated ? "swiglu" : "activation_func", is_gated ? "true" : value);
    return true;
  }
  if (entry.path.ends_with("optim.name")) {
    add_setting(request, entry, "use_distributed_optimizer",
                value.find("distributed") != std::string::npos ? "true" : "false");
    if (value.find("adam") == std::string::npos) add_setting(request, entry, "optimizer", value);
    return true;
  }
  if (name == "grad_sync_dtype") {
    add_setting(request, entry, "grad_reduce_in_bf16",
                value.find("16") != std::string::npos ? "true" : "false");
    return true;
  }
  if (entry.path.find("tokenizer.") != std::string::npos &&
      (name == "type" || name == "model" || name == "tokenizer_model")) {
    if (!is_off(value))
      add_setting(request, entry, name == "type" ? "tokenizer_type" : "tokenizer_model", value);
    return true;
  }
  if (is_allocator(name)) {
    add_setting(request, entry, "pytorch_cuda_alloc_conf", value);
    return true;
  }
  if (name == "fsdp" || name == "megatron_fsdp") {
    add_setting(request, entry, "use_megatron_fsdp", value);
    return true;
  }
  return false;
}

}  // namespace

void check_is_read(const Unread& unread, std::span<const Named> named, Request& request) {
  const auto value_of = [&](std::string_view size) -> std::string {
    for (const Named& entry : named | std::views::reverse)
      if (last_part(entry.path) == size && !entry.values.empty()) return entry.values.front();
    return "";
  };
  const auto has_experts = [&] {
    return std::ranges::find(request.settings, "num_experts", &Setting::name) !=
           request.settings.end();
  };
  std::vector<std::string_view> lacking;
  for (const std::string_view size : sizes_of_layout) {
    const bool is_needed = size == "virtual_pipeline_model_parallel_size"
                               ? value_of("pipeline_model_parallel_size") != "1" &&
                                     value_of("pipeline_model_parallel_layout").empty()
                               : size != "expert_model_parallel_size" || has_experts();
    if (is_needed && value_of(size).empty()) lacking.push_back(size);
  }
  if (lacking.empty()) {
    request.not_followed.push_back({.text = unread.text,
                                    .origin = unread.origin,
                                    .why = "not in the files; its other settings are not known"});
    return;
  }
  throw config::Error(
      config::locate(unread.origin,
                     fmt::format("{} is not in the files, and the settings do not give {}",
                                 unread.text, fmt::join(lacking, ", "))))
      .suggest("give the folder of its package, as in PACKAGE=Megatron-Bridge, or these settings");
}

namespace {

// Sets the number of GPUs of a request from the settings of nodes and of GPUs per node; null: no
// file has the setting.
void count_gpus(const Named* nodes, const Named* devices, Request& request) {
  if (devices == nullptr || devices->values.empty()) return;
  // Launchers choose the number of nodes where the configuration leaves it out.
  if (nodes == nullptr || nodes->values.empty()) {
    request.assumed.push_back(
        fmt::format("{} is of each node, and no file sets the number of nodes", devices->written));
    return;
  }
  const auto count = [](const Named& entry) {
    return whole_number({.values = entry.values, .written = entry.written, .origin = entry.origin});
  };
  const std::uint64_t gpus_per_node = count(*devices);
  const std::uint64_t node_count = count(*nodes);
  constexpr std::uint64_t max_gpus = 1U << 24U;
  if (gpus_per_node > max_gpus || node_count > max_gpus || gpus_per_node * node_count == 0) return;
  request.gpus = gpus_per_node * node_count;
  request.gpus_from = fmt::format("{} x {}", nodes->written, devices->written);
  request.gpus_origin = devices->origin;
}

}  // namespace

void translate(std::span<const Named> named, Request& request) {
  const bool has_adapters = add_adapters(named, request);
  request.own = {.table = &known_settings(), .names = used_names()};
  const Named* nodes = nullptr;
  const Named* devices = nullptr;
  for (const Named& entry : named) {
    if (has_adapters && is_of_adapters(entry)) continue;
    std::string name = last_part(entry.path);
    // NeMo 2 has the sizes of the batch beside those of the data.
    const bool is_size = name.ends_with("seq_length") || name.ends_with("sequence_length") ||
                         entry.path == "data.global_batch_size" ||
                         entry.path == "data.micro_batch_size";
    const SettingRow* const by_path =
        is_size || is_allocator(name) ? nullptr : known_settings().find_path(entry.path);
    const SettingRow* const row =
        is_size || by_path != nullptr ? by_path : known_settings().find(name);
    if (name == "num_nodes" || name == "DGXNNODES") nodes = &entry;
    if (entry.path == "trainer.devices" || name == "num_gpus_per_node" || name == "DGXNGPU" ||
        name == "gpus_per_node")
      devices = &entry;
    if (&entry == nodes || &entry == devices) continue;
    const std::string value = entry.values.empty() ? "" : entry.values.front();
    if (value == "null" || value == "None") {
      // The setting replaces one of the same name by the default.
      std::erase_if(request.settings, [&](const Setting& setting) {
        return setting.name == name || setting.name == flag_name_of(name);
      });
      continue;
    }
    // The names of the recipe and of the model are read apart from the settings (find_model).
    if (entry.path == "recipe" || name == "hf_model_id") continue;
    if (entry.path == not_followed_path) {
      request.not_followed.push_back({.text = entry.written, .origin = entry.origin});
      continue;
    }
    Setting setting{
        .name = name, .values = entry.values, .written = entry.written, .origin = entry.origin};
    if (const std::optional<std::string> reason = unknown_in(value);
        reason && entry.origin.source.ends_with(".py")) {
      const SettingRow* const known = row != nullptr ? row : megatron::known_settings().find(name);
      if (known == nullptr || known->changes != Changes::nothing)
        add_unknown(setting, *reason, request);
      continue;
    }
    if (by_path == nullptr && read_special(entry, name, request)) continue;
    if (row != nullptr) {
      setting.name = entry.path;  // no flag of Megatron-LM has this name
    } else if (const auto alias = std::ranges::find(aliases, std::string_view(name), &Alias::name);
               alias != aliases.end() && !is_flag_already(name)) {
      setting.name = alias->flag;
      if (alias->inverted) setting.values = {is_off(value) ? "true" : "false"};
    }
    request.settings.push_back(std::move(setting));
  }
  count_gpus(nodes, devices, request);
}

}  // namespace pipewright::jobs::nemo
