#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/frozen.hpp"
#include "sim/jobs/request/lora.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/swift/swift.hpp"
#include "sim/jobs/trainer/trainer.hpp"

namespace pipewright::jobs::swift {
namespace {

struct Default {
  std::string_view name, value;
  bool of_experts = false;  // counts only for models with experts
};
// swift/megatron/arguments/megatron_args.py, where it differs from the recipes of Megatron-Bridge.
constexpr std::array megatron_defaults{
    Default{"micro_batch_size", "1"},
    Default{"global_batch_size", "16"},
    Default{"recompute_granularity", "selective"},
    Default{"cross_entropy_loss_fusion", "true"},
    Default{"attention_backend", "flash"},
    Default{"use_distributed_optimizer", "true"},
    Default{"overlap_grad_reduce", "false"},
    Default{"overlap_param_gather", "false"},
    Default{"moe_token_dispatcher_type", "alltoall", true},
    Default{"bf16", "true"},
    Default{"apply_rope_fusion", "false"},
    Default{"moe_permute_fusion", "false", true},
    Default{"expert_tensor_parallel_size", "1", true},
};

// Name of an argument for one of Megatron-LM, or of Hugging Face's Trainer.
struct Renamed {
  std::string_view name, other;
};
constexpr std::array megatron_names{
    Renamed{"max_length", "seq_length"},
    Renamed{"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
    Renamed{"microbatch_group_size_per_vp_stage",
            "microbatch_group_size_per_virtual_pipeline_stage"},
    Renamed{"account_for_embedding", "account_for_embedding_in_pipeline_split"},
    Renamed{"account_for_loss", "account_for_loss_in_pipeline_split"},
};
constexpr std::array trainer_names{
    Renamed{"max_length", "cutoff_len"},
    Renamed{"model", "model_name_or_path"},
    Renamed{"train_type", "finetuning_type"},
    Renamed{"tuner_type", "finetuning_type"},
    Renamed{"attn_impl", "flash_attn"},
    Renamed{"sft_type", "finetuning_type"},
    Renamed{"use_liger_kernel", "enable_liger_kernel"},
    Renamed{"target_modules", "lora_target"},
    Renamed{"quant_bits", "quantization_bit"},
};

constexpr std::array trainer_defaults{Default{"finetuning_type", "lora"}, Default{"lora_rank", "8"},
                                      Default{"lora_target", "all-linear"},
                                      Default{"lora_dropout", "0.05"}};

// Settings of LoRA in swift/megatron (arguments/tuner_args.py), and their defaults.
constexpr std::array lora_names{LoraName{"tuner_type", "lora"}, LoraName{"train_type", "lora"},
                                LoraName{"target_modules", "lora_modules"}};
constexpr std::array lora_defaults{Default{"lora_rank", "8"}, Default{"lora_modules", "all-linear"},
                                   Default{"lora_dropout", "0.05"}};

// Arguments of ms-swift that Megatron-LM does not have.
constexpr std::array own_rows{
    SettingRow{.reason = "model of the job, which is read",
               .names = "model model_type model_revision mcore_model load check_model task_type"},
    SettingRow{.reason = "data, which loads beside training",
               .names = "data dataset dataset_ cached_dataset val_dataset columns custom_ "
                        "external_plugins split_dataset_ratio streaming load_from_cache_file "
                        "group_by_length dataloader_ strict interleave_prob shuffle_buffer_size"},
    SettingRow{.reason = "form of the samples, all of which have --max_length tokens here",
               .names = "packing packing_ sequence_packing_ padding_ truncation_ max_pixels "
                        "agent_template template template_ system response_prefix loss_scale "
                        "enable_thinking add_ new_special_ add_version"},
    SettingRow{.reason = "learning rate and its schedule",
               .names = "lr lr_ learning_rate warmup_ vit_lr aligner_lr"},
    SettingRow{.reason = "number of iterations, which are alike",
               .names = "num_train_epochs max_epochs max_steps train_iters"},
    SettingRow{.reason = "validation between iterations", .names = "eval_ logging_first_step"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "save save_ output_dir finetune merge_lora safe_ load_safetensors "
                        "use_hf hub_ push_to_hub resume_ no_save_ no_load_"},
    SettingRow{.reason = "logs, profiles and traces",
               .names = "report_to logging_steps swanlab_ wandb_"},
    SettingRow{.reason = "numbers in adapters, which take no time",
               .names = "lora_alpha lora_bias lora_dtype use_rslora use_dora init_weights"},
    SettingRow{.reason = "learning rates of encoders and aligners of images",
               .names = "vit_lr aligner_lr"},
    SettingRow{Changes::time_and_memory,
               "recomputation in the encoder of images, which "
               "modules.vision.recompute sets",
               "vit_gradient_checkpointing"},
    SettingRow{.reason = "data type of the weights, where --bf16 or --fp16 states that of products",
               .names = "torch_dtype"},
    SettingRow{.reason = "kernel of attention outside of Megatron-Core", .names = "attn_impl"},
};

const SettingTable& own_settings() {
  static const SettingTable table{own_rows};
  return table;
}

// Command of ms-swift: a program, what it trains, and its arguments.
struct Command {
  std::string program;   // "megatron" or "swift"
  std::string training;  // "sft"
  std::vector<Setting> settings;
  std::size_t index;  // of the script's commands
};
std::optional<Command> command_in(const Script& script) {
  std::optional<Command> command;
  for (std::size_t index = 0; index < script.commands.size(); ++index) {
    const std::vector<Word>& words = script.commands[index];
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i].text == "megatron" || words[i].text == "swift")
        for (const std::string_view training : {"sft", "pt", "rlhf"})
          if (words[i + 1].text == training)
            command = Command{words[i].text, std::string(training),
                              settings_of(std::span(words).subspan(i + 2)), index};
  }
  return command;
}

const Setting* setting_named(const Request& request, std::string_view name) {
  const Setting* last = nullptr;
  for (const Setting& setting : request.settings)
    if (setting.name == name && !setting.values.empty()) last = &setting;
  return last;
}

void rename(std::span<const Renamed> names, Request& request) {
  for (Setting& setting : request.settings)
    if (const auto row = std::ranges::find(names, std::string_view(setting.name), &Renamed::name);
        row != names.end())
      setting.name = row->other;
}

// Reads the data type of the weights, which products have, too: bf16, or fp16 for weights of 16 and
// of 32 bits (_init_mixed_precision of swift/arguments/base_args/model_args.py). --bf16 and --fp16
// state the type of products by themselves.
void read_weight_type(Request& request) {
  if (setting_named(request, "bf16") != nullptr || setting_named(request, "fp16") != nullptr)
    return;
  for (Setting& setting : request.settings) {
    if (setting.name != "torch_dtype" || setting.values.empty()) continue;
    const std::string& type = setting.values.front();
    if (type != "bfloat16" && type != "float16" && type != "float32")
      throw refusal(setting, "weights of this type are not trained")
          .allow("bfloat16, float16, float32");
    setting.name = type == "bfloat16" ? "bf16" : "fp16";
    setting.values = {"true"};
  }
}

// Names of frozen parts. Encoders and aligners are frozen by default (swift/arguments/tuner_args.py
// and swift/megatron/arguments/megatron_args.py).
constexpr std::array frozen_names{FrozenName{"freeze_llm", "freeze_language_model"},
                                  FrozenName{"freeze_vit", "freeze_vision_model"},
                                  FrozenName{"freeze_aligner", "freeze_vision_projection"}};
constexpr std::array<std::string_view, 2> frozen_by_default{"freeze_vision_model",
                                                            "freeze_vision_projection"};

// Throws config::Error if a job freezes weights that no group of the scenario has.
void check_no_weights_frozen(const Request& request) {
  for (const char* const name :
       {"freeze_parameters", "freeze_parameters_regex", "freeze_parameters_ratio"})
    if (const Setting* const frozen = setting_named(request, name);
        frozen != nullptr && !is_off(frozen->values.front()))
      throw refusal(*frozen, frozen_is_not_modelled);
}

// Adds the settings of adapters that a job does not give, if it trains some.
void add_lora_defaults(Request& request) {
  rename_lora(lora_names, request);
  const Setting* const method = setting_named(request, "lora");
  if (method == nullptr || method->values.front() == "full") {
    std::erase_if(request.settings, [](const Setting& setting) {
      return setting.name.starts_with("lora") || setting.name == "use_dora";
    });
    return;
  }
  if (const Setting* const dora = setting_named(request, "use_dora");
      dora != nullptr && !is_off(dora->values.front()))
    throw refusal(*dora, adapters_are_not_modelled);
  std::vector<Setting> missing;
  for (const Default& row : lora_defaults)
    if (setting_named(request, row.name) == nullptr)
      missing.push_back({.name = std::string(row.name),
                         .values = {std::string(row.value)},
                         .written = fmt::format("{} = {} by default", row.name, row.value)});
  request.settings.insert(request.settings.end(), missing.begin(), missing.end());
}

// Model of the job: the identifier of a checkpoint, or the name of a converted one.
std::string model_of(const Request& request) {
  for (const char* const name : {"model", "mcore_model", "load"})
    if (const Setting* const setting = setting_named(request, name))
      if (std::string model = model_named(setting->values.front()); !model.empty()) return model;
  return "";
}

// Returns whether the model has experts: the job gives their number, or the library's model has
// some.
bool has_experts(const Request& request) {
  if (const Setting* const count = setting_named(request, "num_experts"))
    return !is_off(count->values.front());
  if (request.model.empty()) return false;
  const config::Value model =
      config::read_yaml_file(config::library_file("models", request.model, ".yaml").string());
  return config::find(model, "experts") != nullptr;
}

Job read_megatron(Request request) {
  check_no_weights_frozen(request);
  rename_frozen(frozen_names, frozen_by_default, request);
  add_lora_defaults(request);
  read_weight_type(request);
  const Setting* const half = setting_named(request, "fp16");
  const bool is_fp16 = half != nullptr && !is_off(half->values.front());
  request.dialect = Dialect::recipe;
  request.model = model_of(request);
  const Setting* const packing = setting_named(request, "packing");
  const bool packs = packing != nullptr && !is_off(packing->values.front());
  if (!packs && setting_named(request, "max_length") != nullptr)
    request.assumed.emplace_back(
        "all samples have --max_length tokens, as they would with packing");
  if (const Setting* const id = setting_named(request, "model"); request.model.empty() && id)
    request.assumed.push_back(
        fmt::format("{}: the library has no model of this name", id->written));
  rename(megatron_names, request);
  request.own.table = &own_settings();
  const bool experts = has_experts(request);
  std::vector<Setting> settings;
  for (const Default& row : megatron_defaults)
    if ((!row.of_experts || experts) && !(is_fp16 && row.name == "bf16"))
      settings.push_back({.name = std::string(row.name),
                          .values = {std::string(row.value)},
                          .written = fmt::format("--{} {} by default", row.name, row.value)});
  settings.insert(settings.end(), request.settings.begin(), request.settings.end());
  request.settings = std::move(settings);
  return megatron::read(std::move(request));
}

Job read_trainer(Request request, std::span<const Source> configs) {
  rename(trainer_names, request);
  read_weight_type(request);
  rename_frozen(frozen_names, frozen_by_default, request);
  // swift/arguments/base_args and sft_args.py: adapters by default, with these numbers.
  for (const Default& row : trainer_defaults)
    if (setting_named(request, row.name) == nullptr)
      request.settings.push_back({.name = std::string(row.name),
                                  .values = {std::string(row.value)},
                                  .written = fmt::format("{} {} by default", row.name, row.value)});
  // swift/arguments: one sample by default.
  if (setting_named(request, "per_device_train_batch_size") == nullptr)
    request.settings.push_back({.name = "per_device_train_batch_size",
                                .values = {"1"},
                                .written = "--per_device_train_batch_size 1 by default"});
  if (setting_named(request, "cutoff_len") == nullptr)
    throw refusal(request, "--max_length is missing: the length of a sample is not known");
  for (const Source& config : configs) trainer::add_json(config, request);
  if (configs.empty()) trainer::add_deepspeed(request);
  Job job = trainer::read(std::move(request));
  name_stack(job, "pytorch-fsdp");
  return job;
}

}  // namespace

bool recognise(const SourceText& file) {
  if (!file.may_be_shell()) return false;
  for (const char* const words :
       {"megatron sft", "megatron pt", "megatron rlhf", "swift sft", "swift pt", "swift rlhf"})
    if (file.has(words)) return true;
  return false;
}

Job read_job(const JobInput& input) {
  std::vector<Source> scripts;
  std::vector<Source> configs;
  for (const Source& source : input.sources)
    (SourceText(source).is_json() ? configs : scripts).push_back(source);
  Script script = run_scripts(scripts, input.words);
  const std::optional<Command> command = command_in(script);
  // NPROC_PER_NODE=8 megatron sft
  if (command)
    for (const auto& [name, word] : script.environments[command->index])
      script.variables[name] = {.words = {word}};
  Request request = read_launch(script, scripts.back().name);
  request.name = empty_request(input).name;
  request.single = scripts.size() == 1;
  apply_gpus(input.words, request);
  if (!command)
    throw refusal(request, "no command of ms-swift that runs").allow("megatron sft, swift sft");
  if (command->training == "rlhf")
    throw refusal(request, fmt::format("{} rlhf also generates texts, which is not modelled",
                                       command->program))
        .allow("megatron sft, megatron pt, swift sft or swift pt");
  request.settings = command->settings;
  return command->program == "megatron" ? read_megatron(std::move(request))
                                        : read_trainer(std::move(request), configs);
}

}  // namespace pipewright::jobs::swift
