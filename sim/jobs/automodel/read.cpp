#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/automodel/automodel.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/frozen.hpp"
#include "sim/jobs/request/lora.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/request/optimizer_name.hpp"
#include "sim/jobs/request/torchao.hpp"

namespace pipewright::jobs::automodel {
namespace {

constexpr config::Document automodel_config{"a configuration", "step_scheduler",
                                            "step_scheduler: {}", true};

// First of these settings with a value that is not null.
const Setting* first_of(Draft& draft, std::initializer_list<std::string_view> names) {
  const Setting* first = nullptr;
  for (const std::string_view name : names)
    if (const Setting* const setting = draft.find(name); first == nullptr && setting != nullptr &&
                                                         !setting->values.empty() &&
                                                         !is_off(setting->values.front()))
      first = setting;
  return first;
}

void read_model(Draft& draft) {
  const Setting* const id =
      first_of(draft, {"model.pretrained_model_name_or_path",
                       "model.config.pretrained_model_name_or_path", "model.config"});
  const std::string model = id == nullptr ? "" : model_named(draft.text(id->name));
  if (!model.empty()) return draft.set("model", model, *id);
  if (id != nullptr) draft.not_understood(*id, "the library has no model of this name");
  draft.lacks("model");
}

void read_sequence(Draft& draft) {
  const Setting* const length = first_of(
      draft, {"packed_sequence.packed_sequence_size", "dataset.seq_len", "dataset.seq_length",
              "dataset.max_length", "dataset.max_seq_length", "dataset.block_size"});
  if (length != nullptr)
    draft.set("training.sequence", draft.text(length->name), *length);
  else
    draft.assume("samples have the sequence length of the model, as no key gives another");
}

void read_parallel(Draft& draft) {
  const Setting* const strategy = first_of(draft, {"distributed.strategy", "distributed._target_"});
  const std::string way = strategy == nullptr ? "fsdp2" : draft.text(strategy->name);
  const bool is_ddp = way == "ddp" || way.ends_with("DDPManager");
  draft.set("parallel.zero", is_ddp ? "0" : "3",
            strategy != nullptr ? strategy->written : "FSDP2 by default");
  const Setting* const copies = first_of(draft, {"distributed.dp_replicate_size"});
  if (copies != nullptr && whole_number(*copies) > 1)
    draft.set("parallel.replicate", draft.text(copies->name), *copies);
  const std::uint64_t size = draft.count_at("parallel.tp", 1) * draft.count_at("parallel.cp", 1) *
                             draft.count_at("parallel.pp", 1);
  const Setting* const dp = first_of(draft, {"distributed.dp_size"});
  const Request& request = draft.request();
  if (request.gpus) {
    if (size == 0 || *request.gpus % size != 0)
      throw gpus_refusal(request,
                         fmt::format("world size ({}, by {}) is not divisible by tp x cp x pp ({})",
                                     *request.gpus, request.gpus_from, size));
    draft.set("parallel.dp", fmt::format("{}", *request.gpus / size),
              fmt::format("{} GPUs by {}", *request.gpus, request.gpus_from), request.gpus_origin);
  } else if (dp != nullptr) {
    draft.set("parallel.dp", draft.text(dp->name), *dp);
  } else {
    draft.lacks("parallel.dp");
  }
}

void read_schedule(Draft& draft) {
  const Setting* const name = draft.find("distributed.pipeline.pp_schedule");
  const Setting* const layers = draft.find("distributed.pipeline.layers_per_stage");
  const std::uint64_t pp = draft.count_at("parallel.pp", 1);
  if (pp < 2) return;
  const std::string torch_name =
      base::lowercase(draft.text("distributed.pipeline.pp_schedule", "1f1b"));
  const std::string schedule = word_for(
      "1f1b gpipe interleaved1f1b=interleaved-1f1b interleavedzerobubble=interleaved-zb "
      "loopedbfs=looped-bfs zbvzerobubble=zb-v dualpipev=dualpipe-v",
      torch_name);
  if (schedule.empty()) throw refusal(*name, "PyTorch has no schedule of this name");
  draft.set("schedule.name", schedule, name != nullptr ? name->written : "1f1b by default");
  const std::uint64_t all = draft.library_count("layers");
  const bool has_chunks = schedule.starts_with("interleaved") || schedule == "looped-bfs";
  if (!has_chunks || all == 0) return;
  // Stages are rounded up to a multiple of the devices.
  const std::uint64_t of_stage = layers != nullptr ? whole_number(*layers) : 0;
  const std::uint64_t chunks = of_stage == 0 ? 2 : (all + of_stage * pp - 1) / (of_stage * pp);
  draft.set("schedule.chunks", fmt::format("{}", std::max<std::uint64_t>(chunks, 1)),
            layers != nullptr ? layers->written : "two stages on each device by default");
}

void read_batch(Draft& draft) {
  const Setting* const local = first_of(draft, {"step_scheduler.local_batch_size"});
  const Setting* const part = first_of(draft, {"distributed.pipeline.pp_microbatch_size"});
  const Setting* const micro =
      draft.count_at("parallel.pp", 1) > 1 && part != nullptr ? part : local;
  if (micro != nullptr) draft.set("training.microbatch_size", draft.text(micro->name), *micro);
  if (draft.at("global_batch") == nullptr) draft.lacks("global_batch");
}

void read_training(Draft& draft) {
  if (const Setting* const all = draft.find("distributed.activation_checkpointing");
      all != nullptr && draft.on(all->name))
    draft.set("training.recompute.granularity", "full", *all);
  if (const Setting* const optimizer = draft.find("optimizer._target_"))
    read_optimizer_name(draft, *optimizer);
  const Setting* const loss = draft.find("loss_fn._target_");
  if (loss == nullptr) return;
  const bool is_fused = draft.text(loss->name).find("FusedLinear") != std::string::npos ||
                        draft.text(loss->name).find("TEParallel") != std::string::npos;
  draft.set("training.fused_loss", is_fused ? "true" : "false", *loss);
}

// Linear modules by the names of Hugging Face's models.
constexpr std::array linear_modules{
    LinearNames{config::PrecisionModule::qkv,
                {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
    LinearNames{config::PrecisionModule::proj, {"self_attn.o_proj"}},
    LinearNames{config::PrecisionModule::mlp, {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}},
    LinearNames{config::PrecisionModule::head, {"lm_head"}},
};

// Reads torchao's float8, which converts linear modules, unless their names are filtered, but not
// grouped products of experts (nemo_automodel/components/quantization/fp8.py).
void read_float8(Draft& draft, bool has_experts) {
  const Setting* const enabled = draft.find("fp8.enabled");
  const Setting* const recipe = draft.find("fp8.recipe_name");
  const Setting* const filter = draft.find("fp8.filter_fqns");
  const Setting* const gather = draft.find("fp8.enable_fsdp_float8_all_gather");
  if (enabled == nullptr || !draft.on("fp8.enabled")) return;
  const std::string type = float8_recipe(draft, recipe);
  draft.set("training.precision", type, *enabled);
  if (has_experts) draft.set("training.precision.experts", "bf16", *enabled);
  if (filter != nullptr)
    read_filter(draft, *filter, linear_modules, type);
  else
    draft.set("training.precision.head", type, *enabled);
  if (gather != nullptr && draft.on(gather->name) && type == "fp8")
    draft.set("training.bytes.gathered", "1", *gather);
}

// Reads the types of Automodel's own models: Transformer Engine's recipe holds for the modules that
// it implements, and a library of grouped products may have MXFP8
// (nemo_automodel/components/models/common/utils.py, BackendConfig).
void read_backend(Draft& draft, bool has_experts) {
  const Setting* const recipe = draft.find("model.backend.te_fp8.recipe");
  const Setting* const experts = draft.find("model.backend.experts");
  const std::string library = draft.text("model.backend.experts", "torch_mm");
  const std::string type = recipe == nullptr ? ""
                                             : word_for("current=fp8 block=fp8-block mxfp8=mxfp8",
                                                        draft.text(recipe->name));
  if (recipe != nullptr && type.empty())
    draft.not_understood(*recipe, "only current, block and mxfp8 are read");
  const bool has_scaled_linear = !type.empty() && draft.text("model.backend.linear", "te") == "te";
  if (has_scaled_linear) draft.set("training.precision", type, *recipe);
  if (!has_experts) return;
  const std::string grouped = library == "torch_mm_mxfp8" ? "mxfp8" : library == "te" ? type : "";
  if (!grouped.empty() && !(has_scaled_linear && grouped == type))
    draft.set("training.precision.experts", grouped, *experts);
  else if (grouped.empty() && has_scaled_linear)
    draft.set("training.precision.experts", "bf16", experts != nullptr ? *experts : *recipe);
}

void read_precision(Draft& draft) {
  const bool has_experts = draft.model_has("experts");
  read_backend(draft, has_experts);
  read_float8(draft, has_experts);
}

constexpr std::array automodel_flags{
    Flag{.name = "model.pretrained_model_name_or_path", .key = "model", .read = read_model},
    Flag{.name = "distributed.tp_size", .key = "parallel.tp", .form = Form::copy},
    Flag{.name = "distributed.cp_size", .key = "parallel.cp", .form = Form::copy},
    Flag{.name = "distributed.pp_size", .key = "parallel.pp", .form = Form::copy},
    Flag{.name = "distributed.ep_size", .key = "parallel.ep", .form = Form::copy},
    Flag{.name = "distributed.sequence_parallel", .key = "parallel.sp", .form = Form::on},
    Flag{.name = "step_scheduler.global_batch_size", .key = "global_batch", .form = Form::copy},
    Flag{.name = "packed_sequence.packed_sequence_size",
         .key = "training.sequence",
         .read = read_sequence},
    Flag{.name = "distributed.strategy", .key = "parallel.zero", .read = read_parallel},
    Flag{.name = "distributed.pipeline.pp_schedule", .key = "schedule.name", .read = read_schedule},
    Flag{.name = "step_scheduler.local_batch_size",
         .key = "training.microbatch_size",
         .read = read_batch},
    Flag{.name = "distributed.activation_checkpointing",
         .key = "training.recompute",
         .read = read_training},
    Flag{.name = "optimizer._target_", .key = "training.optimizer.name", .read = read_training},
    Flag{.name = "fp8.enabled", .key = "training.precision", .read = read_precision},
    Flag{.name = "fp8.recipe_name", .key = "training.precision", .read = read_precision},
    Flag{.name = "fp8.filter_fqns", .key = "training.precision.head", .read = read_precision},
    Flag{.name = "fp8.enable_fsdp_float8_all_gather",
         .key = "training.bytes.gathered",
         .read = read_precision},
    Flag{
        .name = "model.backend.te_fp8.recipe", .key = "training.precision", .read = read_precision},
    Flag{.name = "model.backend.experts",
         .key = "training.precision.experts",
         .read = read_precision},
};

// Attributes of nemo_automodel.components._peft.lora.PeftConfig. Adapters of experts are one each
// (GroupedExpertsLoRA).
constexpr std::array lora_names{
    LoraName{"peft._target_", "lora"}, LoraName{"peft.dim", "lora_rank"},
    LoraName{"peft.target_modules", "lora_modules"}, LoraName{"peft.dropout", "lora_dropout"},
    LoraName{"quantization.load_in_4bit", "lora_base"}};

// Renames the settings of adapters, and adds those that a section `peft` leaves out.
void name_adapters(Request& request) {
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(request.settings, name, &Setting::name);
    return found == request.settings.end() ? nullptr : &*found;
  };
  const auto first = std::ranges::find_if(
      request.settings, [](const Setting& setting) { return setting.name.starts_with("peft."); });
  if (first == request.settings.end()) return;
  if (const Setting* const dora = find("peft.use_dora");
      dora != nullptr && !dora->values.empty() && !is_off(dora->values.front()))
    throw refusal(*dora, adapters_are_not_modelled);
  if (const Setting* const excluded = find("peft.exclude_modules");
      excluded != nullptr && !excluded->values.empty() && !is_off(excluded->values.front()))
    throw refusal(*excluded, "products without adapters are not read")
        .suggest("name those that have adapters: target_modules");
  const Setting section = *first;
  rename_lora(lora_names, request);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (find(name) != nullptr) return;
    request.settings.push_back({.name = std::string(name),
                                .values = {std::string(value)},
                                .written = fmt::format("{} by default", value),
                                .origin = section.origin});
  };
  add("lora", "lora");
  add("lora_rank", "8");
  add("lora_modules", "all-linear");
  for (Setting& setting : request.settings) {
    if (setting.name == "lora") setting.values = {"lora"};
    if (setting.name == "lora_base") setting.values = {"nf4"};
  }
}

// Settings that are not used.
constexpr std::array unused_rows{
    SettingRow{.reason = "learning rate, its schedule, and numbers in the optimizer's update",
               .names = "lr_scheduler. optimizer. clip_grad training.max_grad"},
    SettingRow{.reason = "number of iterations, which are alike", .names = "step_scheduler."},
    SettingRow{
        .reason = "data and tokenizer, which load beside training",
        .names = "data dataset dataset. dataloader. tokenizer tokenizer. packed_sequence.split_"},
    SettingRow{.reason = "validation between iterations", .names = "validation_"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "checkpoint checkpoint."},
    SettingRow{.reason = "logs, profiles and tests", .names = "benchmark. ci. mlflow. wandb."},
    SettingRow{.reason = "numbers in adapters, and their kernels", .names = "peft. quantization."},
    SettingRow{Changes::time,
               "one reduction of the scales of all weights, or casts of weights again",
               "fp8.precompute_float8_dynamic_scale_for_fsdp fp8.force_recompute_fp8_weight_in_bwd",
               "off"},
    SettingRow{.reason = "random numbers", .names = "rng. seed"},
    SettingRow{.reason = "start of processes", .names = "dist_env."},
    SettingRow{
        .reason = "names of classes and types that Automodel's stack has",
        .names = "distributed._target_ distributed.mp_policy. distributed.pipeline.dtype "
                 "model._target_ model.config._target_ model.dtype model.torch_dtype model.trust_ "
                 "recipe recipe."},
    SettingRow{.reason = "how layers that do not divide evenly are rounded",
               .names = "distributed.pipeline.round_ distributed.pipeline.scale_"},
    SettingRow{Changes::time_and_memory,
               "frozen parts would have neither gradients nor optimizer state", "freeze_config."},
};

const SettingTable& known_settings() {
  static const SettingTable table({unused_rows});
  return table;
}

}  // namespace

namespace {

// Names of frozen parts (nemo_automodel/components/utils/model_utils.py, apply_parameter_freezing).
constexpr std::array frozen_names{
    FrozenName{"freeze_config.freeze_language_model", "freeze_language_model"},
    FrozenName{"freeze_config.freeze_vision_tower", "freeze_vision_model"}};
constexpr std::array<std::string_view, 1> frozen_by_default{"freeze_vision_model"};

}  // namespace

SettingNames setting_names() {
  return {.others = {}, .flags = automodel_flags, .unused = {&known_settings()}};
}

bool recognise(const SourceText& file) {
  return file.is_yaml() &&
         (file.has("nemo_automodel.") || (file.has("step_scheduler:") && file.has("recipe:")));
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  for (const Source& source : input.sources) {
    flatten(read_yaml(source, automodel_config, input.words), "{}: {}", "", request.settings);
  }
  apply_gpus(input.words, request);
  // "none" in YAML is as null.
  std::erase_if(request.settings, [](const Setting& setting) {
    return setting.name.starts_with("distributed.") && setting.values.size() == 1 &&
           is_off(setting.values.front()) && setting.values.front() != "false" &&
           setting.values.front() != "False";
  });
  name_adapters(request);
  rename_frozen(frozen_names, frozen_by_default, request);
  Draft draft(std::move(request));
  read_flags(automodel_flags, draft, false);
  read_flags(lora_flags, draft, false);
  read_flags(frozen_flags, draft, false);
  draft.sort_rest(known_settings(), names_of(automodel_flags));
  return draft.take();
}

}  // namespace pipewright::jobs::automodel
