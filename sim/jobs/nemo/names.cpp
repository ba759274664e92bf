#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/aliases.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Sections and, regardless of the section, names that have no effect on a prediction.
constexpr std::array quiet_sections{"exp_manager.",
                                    "checkpoint.",
                                    "logger.",
                                    "scheduler.",
                                    "dataset.",
                                    "rng.",
                                    "run.",
                                    "hydra.",
                                    "profiling.",
                                    "rerun_state_machine.",
                                    "validation.",
                                    "env_vars",
                                    "model.data.",
                                    "model.optim.sched.",
                                    "model.nsys_profile.",
                                    "defaults",
                                    "data.",
                                    "straggler.",
                                    "peft.",
                                    "ft.",
                                    "inprocess_restart.",
                                    "nvrx_straggler.",
                                    "tensor_inspect.",
                                    "model.ub_tp_comm_overlap_cfg"};
constexpr std::array quiet_names{"accumulate_grad_batches",
                                 "align_param_gather",
                                 "apex_transformer_log_level",
                                 "attention_type",
                                 "average_in_collective",
                                 "batch_p2p_comm",
                                 "batch_p2p_sync",
                                 "benchmark",
                                 "reduce_amax",
                                 "get_attention_mask_from_fusion",
                                 "num_sanity_val_steps",
                                 "enable_megatron_timers",
                                 "enable_progress_bar",
                                 "limit_train_batches",
                                 "fsdp_grad_reduce_dtype",
                                 "max_write_concurrency",
                                 "max_read_concurrency",
                                 "betas",
                                 "bias_activation_fusion",
                                 "bias_dropout_add_fusion",
                                 "bucket_cap_mb",
                                 "contiguous_grad_buffer",
                                 "contiguous_param_buffer",
                                 "defer_embedding_wgrad_compute",
                                 "do_layer_norm_weight_decay",
                                 "enable_checkpointing",
                                 "eps",
                                 "ffn_dropout",
                                 "finetune_lr",
                                 "fp8_e4m3",
                                 "grad_allreduce_chunk_size_mb",
                                 "grad_div_ar_fusion",
                                 "gradient_as_bucket_view",
                                 "gradient_clip_val",
                                 "headscale",
                                 "limit_test_batches",
                                 "limit_val_batches",
                                 "log_every_n_steps",
                                 "logger",
                                 "max_epochs",
                                 "max_steps",
                                 "max_time",
                                 "mcore_gpt",
                                 "megatron_amp_O2",
                                 "native_amp_growth_interval",
                                 "native_amp_init_scale",
                                 "normalize_attention_scores",
                                 "num_micro_batches_with_partial_activation_checkpoints",
                                 "activations_checkpoint_layers_per_pipeline",
                                 "post_process",
                                 "pre_process",
                                 "resume_from_checkpoint",
                                 "restore_from_path",
                                 "rotary_percentage",
                                 "scale_positional_embedding",
                                 "sync_batch_comm",
                                 "tokenizer_library",
                                 "delimiter",
                                 "use_fast",
                                 "sentencepiece_legacy",
                                 "transformer_engine",
                                 "use_emha",
                                 "target",
                                 "use_scaled_init_method",
                                 "val_check_interval",
                                 "wgrad_deferral_limit",
                                 "replace_sampler_ddp",
                                 "use_distributed_sampler",
                                 "name",
                                 "tp_only_amax_red",
                                 "gc_interval",
                                 "should_pad_vocab",
                                 "overlap_param_gather_with_optimizer_step",
                                 "check_for_nan_in_grad",
                                 "check_for_large_grads",
                                 "tp_comm_overlap_cfg",
                                 "tp_comm_bootstrap_backend",
                                 "dist_ckpt_format",
                                 "seq_len_interpolation_factor",
                                 "transformer_block_type",
                                 "bucket_size",
                                 "cross_entropy_fusion_impl",
                                 "vocab_file",
                                 "merge_file",
                                 "manual_gc"};

std::string last_part(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

std::string letters_and_digits(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
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

// Reads a precision recipe by its name, such as "bf16_with_fp8_current_scaling_mixed" or "fp8_cs".
void read_precision(const Named& from, Request& request) {
  const std::string name = letters_and_digits(from.values.empty() ? "" : from.values.front());
  // A later recipe replaces an earlier one.
  if (from.path.ends_with("mixed_precision"))
    std::erase_if(request.settings, [](const Setting& setting) {
      return setting.name == "fp8_format" || setting.name == "fp8_recipe" ||
             setting.name == "fp4_format" || setting.name == "bf16" || setting.name == "fp16";
    });
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const auto eight = [&](std::string_view recipe) {
    add_setting(request, from, "fp8_format", "hybrid");
    add_setting(request, from, "fp8_recipe", std::string(recipe));
  };
  if (has("nvfp4"))
    add_setting(request, from, "fp4_format", "e2m1");
  else if (has("mxfp8") || has("fp8mx"))
    eight("mxfp8");
  else if (has("subchannel") || has("fp8sc") || has("blockwise"))
    eight("blockwise");
  else if (has("currentscaling") || has("fp8cs"))
    eight("tensorwise");
  else if (has("fp8"))
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

// Setting for an attribute whose value only a running recipe knows. Throws config::Error if the
// layout depends on the value.
Setting not_followed(Setting setting, const std::string& reason) {
  if (std::ranges::find(sizes_of_layout, std::string_view(setting.name)) != sizes_of_layout.end())
    throw config::Error(config::locate(
        setting.origin, fmt::format("{}: the value is not known, because of {}", setting.written,
                                    reason)))
        .suggest("write the number into the file, or give an override");
  setting.written =
      fmt::format("{}: the value is not known, because of {}", setting.written, reason);
  setting.name = "not_followed";
  setting.values = {"true"};
  return setting;
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
    if (name != "fp8_hybrid" && !says_no(value))
      add_setting(request, entry, "fp8_format", "hybrid");
    return true;
  }
  if (name == "activation" || name == "activation_func") {
    const std::string kind = letters_and_digits(value);
    if (kind.find("glu") != std::string::npos) add_setting(request, entry, "swiglu", "true");
    return true;
  }
  if (entry.path.ends_with("optim.name")) {
    add_setting(request, entry, "use_distributed_optimizer",
                value.find("distributed") != std::string::npos ? "true" : "false");
    return true;
  }
  if (name == "grad_sync_dtype") {
    if (value.find("16") != std::string::npos)
      add_setting(request, entry, "grad_reduce_in_bf16", "true");
    return true;
  }
  if (entry.path.find("tokenizer.") != std::string::npos &&
      (name == "type" || name == "model" || name == "tokenizer_model")) {
    if (!says_no(value))
      add_setting(request, entry, name == "type" ? "tokenizer_type" : "tokenizer_model", value);
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
    const bool is_needed =
        size == "virtual_pipeline_model_parallel_size"
            ? value_of("pipeline_model_parallel_size") != "1" &&
                  value_of("pipeline_model_parallel_layout").empty()
            : size != "expert_model_parallel_size" || has_experts();
    if (is_needed && value_of(size).empty()) lacking.push_back(size);
  }
  if (lacking.empty()) {
    request.settings.push_back(
        {.name = "not_followed",
         .values = {"true"},
         .written = fmt::format("{}: not in the files; its other settings are not known",
                                unread.text),
         .origin = unread.origin});
    return;
  }
  throw config::Error(
      config::locate(unread.origin,
                     fmt::format("{} is not in the files, and the settings do not give {}",
                                 unread.text, fmt::join(lacking, ", "))))
      .suggest(
          "give the folder of its package, as in PACKAGE=Megatron-Bridge, or these settings");
}

void translate(std::span<const Named> named, Request& request) {
  const Named* nodes = nullptr;
  const Named* devices = nullptr;
  for (const Named& entry : named) {
    const bool quiet = std::ranges::any_of(
        quiet_sections, [&](std::string_view section) { return entry.path.starts_with(section); });
    std::string name = last_part(entry.path);
    // NeMo 2 has the sizes of the batch beside those of the data.
    const bool is_size = entry.path.ends_with("seq_length") ||
                         entry.path.ends_with("sequence_length") ||
                         entry.path == "data.global_batch_size" ||
                         entry.path == "data.micro_batch_size";
    const bool silent = (quiet && !is_size) ||
                        std::ranges::find(quiet_names, std::string_view(name)) != quiet_names.end();
    if (name == "num_nodes" || name == "DGXNNODES") nodes = &entry;
    if (entry.path == "trainer.devices" || name == "num_gpus_per_node" || name == "DGXNGPU" ||
        name == "gpus_per_node")
      devices = &entry;
    if (&entry == nodes || &entry == devices) continue;
    const std::string value = entry.values.empty() ? "" : entry.values.front();
    if (value == "null" || value == "None") continue;
    // The names of the recipe and of the model are read apart from the settings (find_model).
    if (entry.path == "recipe" || name == "hf_model_id") continue;
    Setting setting{
        .name = name, .values = entry.values, .written = entry.written, .origin = entry.origin};
    if (const std::optional<std::string> reason = unknown_in(value);
        reason && entry.origin.source.ends_with(".py")) {
      if (!silent && !megatron::has_no_effect(name))
        request.settings.push_back(not_followed(std::move(setting), *reason));
      continue;
    }
    if (!quiet && read_special(entry, name, request)) continue;
    if (silent) {
      setting.name = "log_" + name;  // has no effect, like flags of logs
    } else if (const auto alias = std::ranges::find(aliases, std::string_view(name), &Alias::name);
               alias != aliases.end() && !is_flag_already(name)) {
      setting.name = alias->flag;
      if (alias->inverted) setting.values = {says_no(value) ? "true" : "false"};
    }
    request.settings.push_back(std::move(setting));
  }
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

}  // namespace pipewright::jobs::nemo
