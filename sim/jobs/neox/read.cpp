#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/neox/neox.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/optimizer_name.hpp"
#include "sim/jobs/request/zero_offload.hpp"

namespace pipewright::jobs::neox {
namespace {

constexpr config::Document neox_config{"a configuration", "num_layers", "\"num_layers\": 12", true};

bool is_gated(Draft& draft) {
  const std::string activation = draft.text("activation", "gelu");
  return activation.ends_with("glu") || activation == "swiglu";
}

// Size of the MLP (megatron/model/transformer.py, ParallelMLP): a gated MLP has 2/3 of the width
// for both of its halves, rounded up to mlp_multiple_of.
void read_mlp(Draft& draft) {
  const Setting* const activation = draft.find("activation");
  const Setting* const size = draft.find("intermediate_size");
  const std::uint64_t multiple =
      std::max<std::uint64_t>(draft.count("mlp_multiple_of").value_or(1), 1);
  const bool gated = is_gated(draft);
  if (gated) draft.set("model.mlp", "swiglu", *activation);
  const std::uint64_t whole = size != nullptr && !is_off(draft.text(size->name))
                                  ? whole_number(*size)
                                  : 4 * draft.count_at("model.hidden", 0);
  const std::uint64_t half = gated ? whole * 2 / 3 / 2 : whole;
  const std::uint64_t ffn = (half + multiple - 1) / multiple * multiple;
  if (ffn > 0)
    draft.set("model.ffn", fmt::format("{}", ffn),
              size != nullptr ? size->written : "4 times hidden_size");
}

void read_experts(Draft& draft) {
  const Setting* const count = draft.find("moe_num_experts");
  const Setting* const every = draft.find("moe_expert_interval");
  if (count == nullptr || whole_number(*count) < 2) return;
  draft.set("model.experts.count", draft.text(count->name), *count);
  const Setting* const top = draft.find("moe_top_k");
  draft.set("model.experts.top_k", draft.text("moe_top_k", "1"),
            top != nullptr ? top->written : "moe_top_k: 1 by default");
  if (const config::Value* const ffn = draft.at("model.ffn"))
    draft.set("model.experts.ffn", ffn->text, "as the MLP of other layers");
  if (every != nullptr && whole_number(*every) > 1)
    draft.set("model.experts.every", draft.text(every->name), *every);
}

// Texts of a value and of all values in it.
void add_texts(const config::Value& value, std::vector<std::string>& texts) {
  if (value.kind == config::Value::Kind::text) texts.push_back(value.text);
  for (const config::Value& item : value.items) add_texts(item, texts);
}

// Throws config::Error for layers without attention, such as [[["mamba"], 24]].
void check_layers(const config::Value& tree) {
  for (const config::Entry& entry : tree.entries) {
    if (entry.key != "attention_config" && entry.key != "attention-config") continue;
    std::vector<std::string> texts;
    add_texts(entry.value, texts);
    for (const char* const kind : {"mamba", "rwkv", "gmlp", "amlp"})
      if (std::ranges::find(texts, kind) != texts.end())
        throw config::Error(entry.origin,
                            fmt::format("layers of {} are not read from GPT-NeoX's files", kind))
            .suggest("write a scenario with the model and parallel sizes of the job");
  }
}

void read_model(Draft& draft) {
  draft.set("model.name", draft.request().name, "the file's");
  const Setting* const tokenizer = draft.find("tokenizer_type");
  if (draft.at("model.vocabulary") == nullptr && tokenizer != nullptr) {
    const std::string tokens =
        word_for("GPT2BPETokenizer=50257 CharLevelTokenizer=512", draft.text(tokenizer->name));
    if (!tokens.empty()) draft.set("model.vocabulary", tokens, *tokenizer);
  }
  if (const Setting* const parallel = draft.find("gpt_j_residual");
      parallel != nullptr && draft.on(parallel->name))
    draft.not_understood(*parallel,
                         "attention and MLP have a common residual, which saves an "
                         "all-reduce of tensor parallelism in each pass (time)");
  for (const char* const key :
       {"model.hidden", "model.layers", "model.heads", "model.sequence", "model.vocabulary"})
    if (draft.at(key) == nullptr) draft.lacks(key);
}

void read_parallel(Draft& draft) {
  // Depths of 0 and 1 are the model without a pipeline.
  if (draft.count_at("parallel.pp", 1) == 0)
    draft.set("parallel.pp", "1", *draft.find("pipe_parallel_size"));
  const std::uint64_t size = std::max<std::uint64_t>(draft.count_at("parallel.tp", 1), 1) *
                             draft.count_at("parallel.pp", 1);
  const Request& request = draft.request();
  if (!request.gpus) return draft.lacks("parallel.dp");
  if (*request.gpus % size != 0)
    throw gpus_refusal(
        request, fmt::format("world size ({}, by {}) is not divisible by pipe_parallel_size x "
                             "model_parallel_size ({})",
                             *request.gpus, request.gpus_from, size));
  draft.set("parallel.dp", fmt::format("{}", *request.gpus / size),
            fmt::format("{} GPUs by {}", *request.gpus, request.gpus_from), request.gpus_origin);
}

void read_batch(Draft& draft) {
  const Setting* const batch = draft.find("train_batch_size");
  const Setting* const steps = draft.find("gradient_accumulation_steps");
  if (batch != nullptr) return draft.set("global_batch", draft.text(batch->name), *batch);
  if (steps != nullptr) return draft.set("microbatches", draft.text(steps->name), *steps);
  draft.set("microbatches", "1", "without train_batch_size and gradient_accumulation_steps");
}

void read_precision(Draft& draft) {
  const Setting* const precision = draft.find("precision");
  if (const Setting* const whole = draft.find("fp32_allreduce");
      whole != nullptr && draft.on(whole->name))
    draft.set("communication.gradient_bytes", "4", *whole);
  for (const char* const name : {"bf16.enabled", "fp16.enabled"})
    if (const Setting* const enabled = draft.find(name); enabled != nullptr && draft.on(name)) {
      const bool is_half = std::string_view(name).starts_with("fp16");
      const std::string type = draft.text("fp16.type", is_half ? "fp16" : "bf16");
      draft.set("training.precision", type.starts_with("bf") ? "bf16" : "fp16", *enabled);
    }
  if (precision == nullptr) return;
  const std::string type =
      word_for("bfloat16=bf16 fp16 float16=fp16 fp32", draft.text(precision->name));
  if (!type.empty()) draft.set("training.precision", type, *precision);
}

void read_recompute(Draft& draft) {
  const Setting* const all = draft.find("checkpoint_activations");
  if (all == nullptr || !draft.on(all->name)) return;
  draft.set("training.recompute.granularity", "full", *all);
  const Setting* const layers = draft.find("checkpoint_num_layers");
  if (layers != nullptr && whole_number(*layers) > 1)
    draft.set("training.recompute.num_layers", draft.text(layers->name), *layers);
}

void read_optimizer(Draft& draft) {
  if (const Setting* const type = draft.find("optimizer.type")) read_optimizer_name(draft, *type);
}

constexpr std::array neox_flags{
    Flag{.name = "num_layers", .key = "model.layers", .form = Form::copy},
    Flag{.name = "hidden_size", .key = "model.hidden", .form = Form::copy},
    Flag{.name = "num_attention_heads", .key = "model.heads", .form = Form::copy},
    Flag{.name = "num_kv_heads", .key = "model.kv_heads", .form = Form::copy},
    Flag{.name = "seq_length", .key = "model.sequence", .form = Form::copy},
    Flag{.name = "padded_vocab_size", .key = "model.vocabulary", .form = Form::copy},
    Flag{.name = "norm",
         .key = "model.norm",
         .form = Form::choice,
         .words = "layernorm rmsnorm te_rmsnorm=rmsnorm te_layernorm=layernorm scalenorm=layernorm",
         .absent = "layernorm"},
    Flag{.name = "pos_emb",
         .key = "model.positions",
         .form = Form::choice,
         .words = "rotary learned sinusoidal=learned none=rotary alibi=rotary rpe=rotary",
         .absent = "learned"},
    Flag{.name = "no_weight_tying",
         .key = "model.tied_embeddings",
         .form = Form::off,
         .absent = "true"},
    Flag{.name = "hidden_dropout", .key = "model.dropout", .form = Form::copy, .absent = "0"},
    Flag{.name = "use_bias_in_mlp", .key = "model.biases", .form = Form::on},
    Flag{.name = "make_vocab_size_divisible_by",
         .key = "training.vocabulary_multiple",
         .form = Form::copy,
         .absent = "128"},
    Flag{.name = "model_parallel_size", .key = "parallel.tp", .form = Form::copy},
    Flag{.name = "pipe_parallel_size", .key = "parallel.pp", .form = Form::copy},
    Flag{.name = "sequence_parallel", .key = "parallel.sp", .form = Form::on},
    Flag{.name = "zero_optimization.stage", .key = "parallel.zero", .form = Form::copy},
    Flag{.name = "zero_optimization.overlap_comm",
         .key = "communication.overlap_grad_reduce",
         .form = Form::on,
         .absent = "false"},
    Flag{.name = "train_micro_batch_size_per_gpu",
         .key = "training.microbatch_size",
         .form = Form::copy},
    Flag{.name = "activation", .key = "model.mlp", .read = read_mlp},
    Flag{.name = "intermediate_size", .key = "model.ffn", .read = read_mlp},
    Flag{.name = "moe_num_experts", .key = "model.experts", .read = read_experts},
    Flag{.name = "moe_expert_parallel_size", .key = "parallel.ep", .form = Form::copy},
    Flag{.name = "fp32_allreduce", .key = "communication.gradient_bytes", .read = read_precision},
    Flag{.name = "tokenizer_type", .key = "model.vocabulary", .read = read_model},
    Flag{.name = "num_gpus", .key = "parallel.dp", .read = read_parallel},
    Flag{.name = "train_batch_size", .key = "global_batch", .read = read_batch},
    Flag{.name = "precision", .key = "training.precision", .read = read_precision},
    Flag{.name = "checkpoint_activations", .key = "training.recompute", .read = read_recompute},
    Flag{.name = "optimizer.type", .key = "training.optimizer.name", .read = read_optimizer},
};

// Settings that are not used.
constexpr std::array unused_rows{
    SettingRow{
        .reason = "learning rate, its schedule, and numbers in the optimizer's update",
        .names = "gradient_clip gradient_clipping lr_ lr_decay_ min_lr optimizer. scheduler. umup "
                 "umup. warmup weight_decay weight_by_ zero_allow_"},
    SettingRow{.reason = "number of iterations, which are alike", .names = "iteration train_iters"},
    SettingRow{.reason = "data and tokenizer, which load beside training",
               .names = "data data_ merge_file mmap_ num_workers split test_ tokenizer tokenizer_ "
                        "train_data_ train_label_ valid_ vocab_file"},
    SettingRow{.reason = "loss scaling of fp16", .names = "fp16. bf16."},
    SettingRow{.reason = "evaluation between iterations", .names = "do_ eval_ text_gen text_gen_"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names =
                   "checkpoint_factor checkpoint_val checkpoint_val_ extra_save_ keep_last_ load "
                   "load_ s3_ save save_ exit_"},
    SettingRow{
        .reason = "logs and profiles",
        .names = "comment log log_ steps_per_print synchronize_ tensorboard tensorboard_ use_wandb "
                 "wall_clock_ wandb wandb_"},
    SettingRow{.reason = "start of processes",
               .names =
                   "deepspeed deepspeed_ distributed_ hostfile include launcher master_ no_ssh_ "
                   "num_nodes use_shared_fs autotuning autotuning_"},
    SettingRow{.reason = "random numbers and initial values of weights",
               .names = "seed init_method init_method_ output_layer_ override_"},
    SettingRow{
        .reason = "numbers in scores, positions and norms of the same cost",
        .names =
            "attention_dropout attention_softmax_in_fp32 layernorm_ max_position_ opt_pos_emb_ "
            "rms_norm_ rope_ rotary_ soft_prompt soft_prompt_"},
    SettingRow{.reason = "kernels that the stack has",
               .names = "attention_config attention_config. bias_gelu_ scaled_"},
    SettingRow{.reason = "biases of attention, which take no time", .names = "use_bias_in_attn"},
    SettingRow{.reason = "sizes of parts in which ZeRO moves tensors",
               .names = "zero_optimization. contiguous_"},
    SettingRow{Changes::memory,
               "inputs of recomputed layers would be divided among the ranks of tp, or move to "
               "the host",
               "partition_act partition_activations checkpoint_in_ checkpoint_in_cpu"},
};

const SettingTable& known_settings() {
  static const SettingTable table({unused_rows});
  return table;
}

}  // namespace

SettingNames setting_names() {
  SettingNames names{.others = {}, .flags = neox_flags, .unused = {&known_settings()}};
  for (const Flag& flag : zero_offload_flags) names.others.emplace_back(flag.name, flag.key);
  return names;
}

bool recognise(const SourceText& file) {
  const bool has_pipe = file.has("pipe_parallel_size") || file.has("pipe-parallel-size");
  return has_pipe && (file.is_yaml() || file.is_json());
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  for (const Source& source : input.sources) {
    const config::Value tree = read_yaml(source, neox_config, input.words);
    check_layers(tree);
    flatten(tree, "{}: {}", "", request.settings);
  }
  const Setting* gpus = nullptr;
  for (Setting& setting : request.settings) {
    std::ranges::replace(setting.name, '-', '_');
    if (setting.name == "num_gpus") gpus = &setting;
  }
  if (gpus != nullptr && !is_off(gpus->values.empty() ? "" : gpus->values.front())) {
    request.gpus = whole_number(*gpus);
    request.gpus_from = gpus->written;
    request.gpus_origin = gpus->origin;
  }
  apply_gpus(input.words, request);
  Draft draft(std::move(request));
  read_flags(neox_flags, draft, true);
  read_flags(zero_offload_flags, draft, false);
  draft.sort_rest(known_settings(), names_of(neox_flags));
  return draft.take();
}

}  // namespace pipewright::jobs::neox
