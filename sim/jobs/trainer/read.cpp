#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/frozen.hpp"
#include "sim/jobs/request/lora.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/request/optimizer_name.hpp"
#include "sim/jobs/request/zero_offload.hpp"
#include "sim/jobs/trainer/trainer.hpp"

namespace pipewright::jobs::trainer {
namespace {

constexpr config::Document trainer_config{"a configuration", "model_name_or_path",
                                          "model_name_or_path: X", true};
constexpr config::Document zero_config{"a configuration", "zero_optimization",
                                       "\"zero_optimization\": {}", true};

void check_stage(Draft& draft) {
  const Setting* const stage = draft.find("stage");
  if (stage == nullptr || draft.text("stage") == "sft" || draft.text("stage") == "pt") return;
  throw refusal(*stage, "only training on given texts is modelled").allow("pt, sft");
}

// Settings of adapters that are off, and would be of another kind than LoRA's. The others have no
// weight in the prediction.
constexpr std::array<std::string_view, 3> other_kinds{"use_dora", "use_llama_pro", "use_galore"};

// Reads what a job trains: adapters unless it says otherwise (finetuning_args.py of LLaMA-Factory).
void read_method(Draft& draft) {
  const std::string method = draft.text("finetuning_type", "lora");
  const Setting* const given = draft.find("finetuning_type");
  if (method != "full" && method != "lora")
    throw refusal(*given, method == "freeze" ? "training of some layers is not modelled"
                                             : adapters_are_not_modelled)
        .allow("full, lora");
  for (const std::string_view name : other_kinds)
    if (const Setting* const kind = draft.find(name); kind != nullptr && draft.on(name))
      throw refusal(*kind, adapters_are_not_modelled).suggest("leave it out");
  const Setting* const bits = draft.find("quantization_bit");
  if (bits == nullptr || draft.text("quantization_bit") == "4") return;
  throw refusal(*bits, "frozen weights in this number of bits are not modelled").allow("4");
}

// Gives the settings of adapters the names of lora_flags. Settings that the Trainer reads, too,
// also keep their own names.
void name_adapters(Request& request) {
  constexpr std::array names{LoraName{"finetuning_type", "lora"},
                             LoraName{"quantization_bit", "lora_base"}};
  constexpr std::array own_names{LoraName{"lora_target", "lora_modules"}};
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(request.settings, name, &Setting::name);
    return found == request.settings.end() ? nullptr : &*found;
  };
  const Setting* const method = find("finetuning_type");
  const std::string kind =
      method == nullptr || method->values.empty() ? "lora" : method->values.front();
  if (kind != "lora") {
    std::erase_if(request.settings,
                  [](const Setting& setting) { return setting.name.starts_with("lora_"); });
    return;
  }
  rename_lora(own_names, request);
  std::vector<Setting> added;
  for (const LoraName& name : names)
    if (const Setting* const setting = find(name.name)) {
      added.push_back(*setting);
      added.back().name = name.lora;
    }
  const auto has = [&](std::string_view name) {
    return find(name) != nullptr || std::ranges::find(added, name, &Setting::name) != added.end();
  };
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> defaults{
      {{"lora", "lora"}, {"lora_rank", "8"}, {"lora_modules", "all"}}};
  for (const auto& [name, value] : defaults)
    if (!has(name))
      added.push_back({.name = std::string(name),
                       .values = {std::string(value)},
                       .written = fmt::format("{}: {} by default", name, value),
                       .origin = {.source = request.name}});
  for (Setting& setting : added)
    if (setting.name == "lora_base") setting.values = {"nf4"};
  request.settings.insert(request.settings.end(), added.begin(), added.end());
}

// Names of frozen parts in LLaMA-Factory, where encoders and projectors are frozen by default
// (hparams/finetuning_args.py).
constexpr std::array frozen_names{
    FrozenName{"freeze_vision_tower", "freeze_vision_model"},
    FrozenName{"freeze_multi_modal_projector", "freeze_vision_projection"}};
constexpr std::array<std::string_view, 2> frozen_by_default{"freeze_vision_model",
                                                            "freeze_vision_projection"};

// LLaMA-Factory can run Megatron-Core, whose sizes the Trainer does not have.
void check_engine(Draft& draft) {
  for (const char* const name :
       {"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"})
    if (const Setting* const size = draft.find(name))
      throw refusal(*size, "jobs of LLaMA-Factory that run Megatron-Core are not read")
          .suggest("write the job with Megatron-LM's flags, or as a scenario");
}

void read_model(Draft& draft) {
  check_engine(draft);
  check_stage(draft);
  read_method(draft);
  const Setting* const id = draft.find("model_name_or_path");
  const std::string model = id == nullptr ? "" : model_named(draft.text(id->name));
  if (!model.empty()) return draft.set("model", model, *id);
  if (id != nullptr) draft.not_understood(*id, "the library has no model of this name");
  draft.lacks("model");
}

void read_batch(Draft& draft) {
  const Setting* const steps = draft.find("gradient_accumulation_steps");
  const std::uint64_t microbatches = draft.count("gradient_accumulation_steps").value_or(1);
  if (steps != nullptr)
    draft.set("microbatches", fmt::format("{}", microbatches), *steps);
  else
    draft.set("microbatches", "1", "without gradient_accumulation_steps");
  if (!draft.on("packing") && !draft.on("neat_packing"))
    draft.assume("all samples have the largest length, as they would with packing");
}

// Reads how many elements DeepSpeed's ZeRO-3 gathers ahead (__prefetch_bucket_sz of
// runtime/zero/partitioned_param_coordinator.py); with "auto", Transformers fills in less than a
// layer has.
void read_prefetch(Draft& draft, const Setting& stage) {
  constexpr const char* name = "zero_optimization.stage3_prefetch_bucket_size";
  const Setting* const bucket = draft.find(name);
  if (bucket == nullptr) return;
  if (whole_number(stage) != 3) return draft.without_effect(*bucket, "without ZeRO-3");
  const auto elements = base::parse_number<double>(draft.text(name));
  constexpr double max_elements = 2147483648;
  if (elements && *elements >= 1 && *elements <= max_elements)
    draft.set("parallel.gather_ahead", fmt::format("{:.0f}", *elements), *bucket);
  else
    draft.without_effect(*bucket, "weights are gathered one layer ahead");
}

void read_data_parallel(Draft& draft) {
  const Setting* const stage = draft.find("zero_optimization.stage");
  const Setting* const fsdp = draft.find("fsdp");
  if (stage != nullptr) {
    draft.set("stack", "deepspeed", "the engine of the job");
    draft.set("parallel.zero", fmt::format("{}", whole_number(*stage)), *stage);
    read_prefetch(draft, *stage);
  } else if (fsdp != nullptr && !fsdp->values.empty()) {
    const std::string ways = fmt::format("{}", fmt::join(fsdp->values, " "));
    draft.set("parallel.zero",
              ways.find("shard_grad_op") != std::string::npos ? "2"
              : ways.find("no_shard") != std::string::npos    ? "0"
                                                              : "3",
              *fsdp);
  }
  const Request& request = draft.request();
  if (!request.gpus) return draft.lacks("parallel.dp");
  draft.set("parallel.dp", fmt::format("{}", *request.gpus),
            fmt::format("{} GPUs by {}", *request.gpus, request.gpus_from), request.gpus_origin);
}

void read_training(Draft& draft) {
  const Setting* const off = draft.find("disable_gradient_checkpointing");
  const Setting* const on = draft.find("gradient_checkpointing");
  const bool is_disabled = draft.on("disable_gradient_checkpointing") ||
                           (on != nullptr && !draft.on("gradient_checkpointing"));
  if (!is_disabled)
    draft.set("training.recompute.granularity", "full",
              on != nullptr ? on->written : "gradient checkpointing is on by default");
  else if (off != nullptr)
    draft.without_effect(*off, "recomputation is off");
  if (const Setting* const kernels = draft.find("flash_attn");
      kernels != nullptr &&
      (draft.text("flash_attn") == "disabled" || draft.text("flash_attn") == "eager"))
    draft.set("training.flash_attention", "false", *kernels);
  if (draft.on("fp16")) draft.set("training.precision", "fp16", *draft.find("fp16"));
  if (const Setting* const optimizer = draft.find("optim")) read_optimizer_name(draft, *optimizer);
}

constexpr std::array trainer_flags{
    Flag{.name = "finetuning_type", .key = "model", .read = read_model},
    Flag{.name = "model_name_or_path", .key = "model", .read = read_model},
    Flag{.name = "cutoff_len", .key = "training.sequence", .form = Form::copy, .absent = "2048"},
    Flag{.name = "per_device_train_batch_size",
         .key = "training.microbatch_size",
         .form = Form::copy,
         .absent = "8"},
    Flag{.name = "gradient_accumulation_steps", .key = "microbatches", .read = read_batch},
    Flag{.name = "zero_optimization.stage", .key = "parallel.zero", .read = read_data_parallel},
    Flag{.name = "zero_optimization.stage3_prefetch_bucket_size",
         .key = "parallel.gather_ahead",
         .read = read_data_parallel},
    Flag{.name = "zero_optimization.overlap_comm",
         .key = "communication.overlap_grad_reduce",
         .form = Form::on},
    Flag{.name = "enable_liger_kernel", .key = "training.fused_loss", .form = Form::on},
    Flag{.name = "gradient_checkpointing", .key = "training.recompute", .read = read_training},
    Flag{.name = "bf16", .key = "training.precision", .form = Form::accepted},
    Flag{.name = "pure_bf16", .key = "training.precision", .form = Form::accepted},
};

// Settings that are not used.
constexpr std::array unused_rows{
    SettingRow{.reason = "learning rate, its schedule, and numbers in the optimizer's update",
               .names = "adam_ learning_rate lr_scheduler_ gradient_clipping max_grad_norm warmup_ "
                        "weight_decay optimizer. scheduler. zero_allow_"},
    SettingRow{.reason = "number of iterations, which are alike", .names = "max_steps num_train_"},
    SettingRow{.reason = "data and templates, which load beside training",
               .names =
                   "cache_ data data_ dataset dataset_ image_ media_ max_samples preprocessing_ "
                   "split_dataset_ streaming system template tokenized_ val_size video_"},
    SettingRow{.reason = "loss scaling of fp16", .names = "fp16. bf16. loss_scale"},
    SettingRow{.reason = "data type of the weights, where bf16 or fp16 states that of products",
               .names = "torch_dtype"},
    SettingRow{.reason = "evaluation between iterations",
               .names = "do_ eval_ metric_ per_device_eval_"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "load_ output_dir overwrite_ resume_ save_ push_to_hub"},
    SettingRow{.reason = "logs", .names = "logging_ plot_loss report_to run_name"},
    SettingRow{.reason = "names of files, which are read apart",
               .names = "model_ deepspeed trust_remote_ use_fast_ use_hf"},
    SettingRow{.reason = "numbers in adapters, and files with some",
               .names = "lora_alpha loraplus_ use_rslora pissa_ adapter_name_or_path "
                        "create_new_adapter quantization_ double_quantization use_dora "
                        "use_llama_pro use_galore"},
    SettingRow{.reason = "random numbers, and time limits of collectives",
               .names = "seed ddp_timeout"},
    SettingRow{.reason = "batch sizes that the Trainer fills in",
               .names = "train_batch_size train_micro_"},
    SettingRow{.reason = "modules that FSDP divides together", .names = "fsdp_"},
    SettingRow{.reason = "sizes of parts in which ZeRO moves tensors",
               .names = "zero_optimization."},
    SettingRow{Changes::time_and_memory, "layer norms in fp32", "upcast_"},
    SettingRow{Changes::time_and_memory, "weights would be sharded within groups of GPUs",
               "zero_optimization.zero_hpz_partition_size"},
};

const SettingTable& known_settings() {
  static const SettingTable table({unused_rows});
  return table;
}

// Names of arguments of training programs for those of LLaMA-Factory.
struct Renamed {
  std::string_view name, other;
};
constexpr std::array program_names{
    Renamed{"max_seq_length", "cutoff_len"},
    Renamed{"max_seq_len", "cutoff_len"},
    Renamed{"model_max_length", "cutoff_len"},
    Renamed{"max_length", "cutoff_len"},
    Renamed{"block_size", "cutoff_len"},
    Renamed{"attn_implementation", "flash_attn"},
    Renamed{"use_liger_kernel", "enable_liger_kernel"},
    Renamed{"use_liger", "enable_liger_kernel"},
    Renamed{"zero_stage", "zero_optimization.stage"},
};

bool is_known_argument(const std::string& name) {
  const std::string_view text = name;
  return std::ranges::find(trainer_flags, text, &Flag::name) != trainer_flags.end() ||
         std::ranges::find(program_names, text, &Renamed::name) != program_names.end() ||
         known_settings().find(name) != nullptr;
}

const Setting* setting_named(const Request& request, std::string_view name) {
  const auto setting = std::ranges::find(request.settings, name, &Setting::name);
  return setting == request.settings.end() ? nullptr : &*setting;
}

void add(Request& request, std::string_view name, std::string_view value,
         std::string_view comment) {
  request.settings.push_back(
      {.name = std::string(name), .values = {std::string(value)}, .written = std::string(comment)});
}

// Adds the defaults of Hugging Face's Trainer where they differ from those of LLaMA-Factory.
void add_defaults(Request& request) {
  for (const char* const name : {"use_peft", "use_lora", "lora_enable", "lora_r", "lora_dim"})
    if (const Setting* const adapter = setting_named(request, name);
        adapter != nullptr && (adapter->values.empty() || !is_off(adapter->values.front())))
      throw refusal(*adapter,
                    "adapters (LoRA) of a program are not read, as each has defaults of its own")
          .suggest("leave it out, and set training.lora: --set training.lora.rank=N");
  add(request, "finetuning_type", "full", "without --use_peft");
  if (setting_named(request, "gradient_checkpointing") == nullptr)
    add(request, "gradient_checkpointing", "false", "without --gradient_checkpointing");
  if (setting_named(request, "cutoff_len") != nullptr) return;
  add(request, "cutoff_len", "None", "without --max_seq_length");
  request.assumed.emplace_back(
      "no flag such as --max_seq_length gives the length of a sample, so it is that of the model");
}

// Throws config::Error if DeepSpeed's JSON and the arguments have different batches, as the Trainer
// does.
void check_batch(const Request& request) {
  constexpr std::uint64_t limit = 1U << 20U;
  const auto number = [&](std::string_view name, std::uint64_t otherwise) {
    const Setting* const setting = setting_named(request, name);
    return setting == nullptr ? otherwise : std::min(whole_number(*setting), limit);
  };
  const std::uint64_t samples = number("per_device_train_batch_size", 8);
  const std::uint64_t steps = number("gradient_accumulation_steps", 1);
  const auto check = [&](std::string_view name, std::uint64_t value, std::string_view how) {
    if (const Setting* const json = setting_named(request, name);
        json != nullptr && whole_number(*json) != value)
      throw refusal(*json, fmt::format("the arguments of the Trainer give {} ({})", value, how))
          .suggest("write \"auto\" in the JSON");
  };
  check("train_micro_batch_size_per_gpu", samples, "--per_device_train_batch_size");
  if (request.gpus && *request.gpus < limit)
    check("train_batch_size", samples * steps * *request.gpus,
          fmt::format("{} samples x {} accumulated x {} GPUs", samples, steps, *request.gpus));
}

// Level of ZeRO in the name of a configuration, such as "ds_z3_config.json"; none if there is none.
std::optional<std::string> level_in(std::string_view name) {
  for (const std::string_view words : {"zero", "_z", "stage"}) {
    const std::size_t at = name.find(words);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = name.substr(at + words.size());
    const std::size_t digit = rest.find_first_of("0123");
    if (digit <= 1) return std::string(rest.substr(digit, 1));
  }
  return std::nullopt;
}

}  // namespace

SettingNames setting_names() {
  SettingNames names{.others = {}, .flags = trainer_flags, .unused = {&known_settings()}};
  for (const Flag& flag : zero_offload_flags) names.others.emplace_back(flag.name, flag.key);
  names.others.emplace_back("lora_rank", "training.lora.rank");
  names.others.emplace_back("lora_target", "training.lora.modules");
  names.others.emplace_back("lora_dropout", "training.lora.dropout");
  names.others.emplace_back("quantization_bit", "training.lora.base");
  return names;
}

bool recognise(const SourceText& file) {
  return file.is_yaml() && file.has("model_name_or_path:") &&
         (file.has("finetuning_type:") || file.has("cutoff_len:") || file.has("stage:"));
}

bool starts_program(const SourceText& file) {
  return file.may_be_shell() &&
         (file.has("--per_device_train_batch_size") || file.has("--per-device-train-batch-size"));
}

void add_json(const Source& source, Request& request) {
  std::vector<Setting> settings;
  flatten(config::read_yaml_text(source.text, source.name, zero_config), "\"{}\": {}", "",
          settings);
  for (Setting& setting : settings)
    if (setting.values.empty() || setting.values.front() != "auto")
      request.settings.push_back(std::move(setting));
  if (request.own.table == nullptr) request.own.table = &deepspeed::known_settings();
}

void add_deepspeed(Request& request) {
  const auto named = std::ranges::find(request.settings, "deepspeed", &Setting::name);
  if (named == request.settings.end() || named->values.empty()) return;
  const Setting setting = *named;
  const std::filesystem::path path = setting.values.front();
  if (const auto source = find_source(path.string(), setting.origin.source))
    return add_json(*source, request);
  const std::optional<std::string> level = level_in(path.filename().string());
  if (!level)
    throw refusal(
        setting,
        fmt::format("the file is neither beside {} nor in a folder above, and its name has "
                    "no level of ZeRO",
                    setting.origin.source))
        .suggest("give the JSON as another file of the job, or name the level, as in zero3");
  request.settings.push_back({.name = "zero_optimization.stage",
                              .values = {*level},
                              .written = setting.written,
                              .origin = setting.origin});
}

Job read(Request request) {
  rename_frozen(frozen_names, frozen_by_default, request);
  name_adapters(request);
  Draft draft(std::move(request));
  read_flags(trainer_flags, draft, true);
  read_flags(zero_offload_flags, draft, false);
  read_flags(lora_flags, draft, false);
  read_flags(frozen_flags, draft, false);
  draft.sort_rest(known_settings(), names_of(trainer_flags));
  return draft.take();
}

Job read_program(const JobInput& input) {
  std::vector<Source> scripts;
  std::vector<Source> configs;
  for (const Source& source : input.sources)
    (SourceText(source).is_json() ? configs : scripts).push_back(source);
  const Script script = run_scripts(scripts, input.words);
  Request request = read_launch(script, scripts.back().name, is_known_argument);
  request.name = empty_request(input).name;
  request.single = scripts.size() == 1;
  const std::vector<Word> command = training_command(script, is_known_argument);
  for (const Word& word : command)
    if (word.text == "accelerate" || word.text.ends_with("/accelerate"))
      throw config::Error(
          word.origin,
          "a launch of accelerate, whose configuration chooses ZeRO or FSDP, and is "
          "not read")
          .suggest("write a scenario with the model, parallel sizes and batch of the job");
  for (Setting& setting : request.settings)
    if (const auto row =
            std::ranges::find(program_names, std::string_view(setting.name), &Renamed::name);
        row != program_names.end())
      setting.name = row->other;
  const bool is_llama_factory = setting_named(request, "finetuning_type") != nullptr;
  if (!is_llama_factory) add_defaults(request);
  for (const Source& config : configs) add_json(config, request);
  if (configs.empty()) add_deepspeed(request);
  apply_gpus(input.words, request);
  check_batch(request);
  Job job = read(std::move(request));
  if (is_llama_factory) job.framework = "llamafactory";
  return job;
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  std::vector<Source> scripts;
  for (const Source& source : input.sources) {
    const SourceText text(source);
    if (text.is_json()) {
      add_json(source, request);
    } else if (recognise(text)) {
      flatten(read_yaml(source, trainer_config, input.words), "{}: {}", "", request.settings);
    } else {
      scripts.push_back(source);
    }
  }
  if (!scripts.empty()) {
    const Request launched = read_launch(run_scripts(scripts, input.words), scripts.back().name);
    request.gpus = launched.gpus;
    request.gpus_from = launched.gpus_from;
    request.gpus_origin = launched.gpus_origin;
    request.not_followed = launched.not_followed;
  }
  const bool has_json = std::ranges::find(request.settings, "zero_optimization.stage",
                                          &Setting::name) != request.settings.end();
  if (!has_json) add_deepspeed(request);
  apply_gpus(input.words, request);
  return read(std::move(request));
}

}  // namespace pipewright::jobs::trainer
