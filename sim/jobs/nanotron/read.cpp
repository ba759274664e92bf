#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/nanotron/nanotron.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/environment.hpp"
#include "sim/jobs/request/flags.hpp"

namespace pipewright::jobs::nanotron {
namespace {

constexpr config::Document nanotron_config{"a configuration", "parallelism", "parallelism: {}",
                                           true};

void read_model(Draft& draft) {
  draft.set("model.name", draft.request().name, "the file's");
  draft.set("model.norm", "rmsnorm", "of nanotron's models");
  draft.set("model.positions", "rotary", "of nanotron's models");
  const Setting* const activation = draft.find("model.model_config.hidden_act");
  if (activation == nullptr || draft.text(activation->name) == "silu")
    draft.set("model.mlp", "swiglu", activation != nullptr ? activation->written : "silu");
  else
    draft.not_understood(*activation, "only silu is read");
  for (const char* const kind : {"is_starcoder2_config", "is_mamba_config"})
    if (const Setting* const other = draft.find(fmt::format("model.model_config.{}", kind));
        other != nullptr && draft.on(other->name))
      throw refusal(*other, "only models with the shape of Llama or Qwen are read")
          .suggest("write a scenario with the shape of the model (stack: nanotron)");
  const Setting* const bias = draft.find("model.model_config.attention_bias");
  const bool has_bias = bias != nullptr && draft.on(bias->name);
  draft.set("model.biases", has_bias ? "qkv" : "false",
            bias != nullptr ? bias->written : "without attention_bias");
  for (const char* const key : {"model.hidden", "model.layers", "model.heads", "model.ffn"})
    if (draft.at(key) == nullptr) draft.lacks(key);
}

void read_parallel(Draft& draft) {
  const Setting* const mode = draft.find("parallelism.tp_mode");
  std::string way = draft.text("parallelism.tp_mode", "ALL_REDUCE");
  std::ranges::transform(way, way.begin(), [](unsigned char c) { return std::toupper(c); });
  if (draft.count_at("parallel.tp", 1) > 1)
    draft.set("parallel.sp", way == "REDUCE_SCATTER" ? "true" : "false",
              mode != nullptr ? mode->written : "tp_mode: ALL_REDUCE by default");
  const Request& request = draft.request();
  const std::uint64_t size = draft.count_at("parallel.dp", 1) * draft.count_at("parallel.tp", 1) *
                             draft.count_at("parallel.pp", 1) * draft.count_at("parallel.cp", 1);
  if (request.gpus && *request.gpus != size)
    throw gpus_refusal(request, fmt::format("dp x pp x tp x cp is {}, and {} gives {} GPUs", size,
                                            request.gpus_from, *request.gpus));
}

// The engine runs forward passes of all microbatches first by default.
void read_schedule(Draft& draft) {
  const Setting* const engine = draft.find("parallelism.pp_engine");
  if (draft.count_at("parallel.pp", 1) == 1) return;
  const std::string name = draft.text("parallelism.pp_engine", "afab");
  const std::string schedule = word_for("1f1b afab=gpipe", name);
  if (schedule.empty()) throw refusal(*engine, "unknown engine").allow("1f1b, afab");
  draft.set("schedule.name", schedule,
            engine != nullptr ? engine->written : "pp_engine: afab by default");
}

void read_experts(Draft& draft) {
  if (draft.at("model.experts.count") == nullptr) return;
  if (const config::Value* const ffn = draft.at("model.ffn");
      ffn != nullptr && draft.at("model.experts.ffn") == nullptr)
    draft.set("model.experts.ffn", ffn->text, "as intermediate_size");
  const Setting* const shared = draft.find("model.model_config.moe_config.enable_shared_expert");
  const Setting* const ffn =
      draft.find("model.model_config.moe_config.shared_expert_intermediate_size");
  if (shared == nullptr || !draft.on(shared->name)) return;
  draft.set("model.experts.shared", "1", *shared);
  if (ffn != nullptr) draft.set("model.experts.shared_ffn", draft.text(ffn->name), *ffn);
}

void read_training(Draft& draft) {
  if (const Setting* const all = draft.find("parallelism.recompute_layer");
      all != nullptr && draft.on(all->name))
    draft.set("training.recompute.granularity", "full", *all);
}

constexpr std::array nanotron_flags{
    Flag{.name = "model.model_config.hidden_size", .key = "model.hidden", .form = Form::copy},
    Flag{.name = "model.model_config.num_hidden_layers", .key = "model.layers", .form = Form::copy},
    Flag{
        .name = "model.model_config.num_attention_heads", .key = "model.heads", .form = Form::copy},
    Flag{.name = "model.model_config.num_key_value_heads",
         .key = "model.kv_heads",
         .form = Form::copy},
    Flag{.name = "model.model_config.intermediate_size", .key = "model.ffn", .form = Form::copy},
    Flag{.name = "model.model_config.vocab_size", .key = "model.vocabulary", .form = Form::copy},
    Flag{.name = "model.model_config.tie_word_embeddings",
         .key = "model.tied_embeddings",
         .form = Form::on,
         .absent = "false"},
    Flag{.name = "model.model_config.moe_config.num_experts",
         .key = "model.experts.count",
         .form = Form::copy},
    Flag{.name = "model.model_config.moe_config.top_k",
         .key = "model.experts.top_k",
         .form = Form::copy},
    Flag{.name = "model.model_config.moe_num_experts",
         .key = "model.experts.count",
         .form = Form::copy},
    Flag{.name = "model.model_config.num_experts_per_tok",
         .key = "model.experts.top_k",
         .form = Form::copy},
    Flag{.name = "model.model_config.moe_config.moe_intermediate_size",
         .key = "model.experts.ffn",
         .form = Form::copy},
    Flag{.name = "model.make_vocab_size_divisible_by",
         .key = "training.vocabulary_multiple",
         .form = Form::copy,
         .absent = "1"},
    Flag{.name = "model.dtype",
         .key = "training.precision",
         .form = Form::choice,
         .words = "bfloat16=bf16 float16=fp16 float32=fp32"},
    Flag{.name = "parallelism.dp", .key = "parallel.dp", .form = Form::copy},
    Flag{.name = "parallelism.tp", .key = "parallel.tp", .form = Form::copy},
    Flag{.name = "parallelism.pp", .key = "parallel.pp", .form = Form::copy},
    Flag{.name = "parallelism.context_parallel_size", .key = "parallel.cp", .form = Form::copy},
    Flag{.name = "parallelism.expert_parallel_size", .key = "parallel.ep", .form = Form::copy},
    Flag{.name = "optimizer.zero_stage", .key = "parallel.zero", .form = Form::copy},
    Flag{.name = "tokens.sequence_length", .key = "model.sequence", .form = Form::copy},
    Flag{.name = "tokens.micro_batch_size", .key = "training.microbatch_size", .form = Form::copy},
    Flag{
        .name = "tokens.batch_accumulation_per_replica", .key = "microbatches", .form = Form::copy},
    Flag{.name = "model.model_config.hidden_act", .key = "model.mlp", .read = read_model},
    Flag{.name = "model.model_config.moe_config.enable_shared_expert",
         .key = "model.experts.shared",
         .read = read_experts},
    Flag{.name = "parallelism.tp_mode", .key = "parallel.sp", .read = read_parallel},
    Flag{.name = "parallelism.pp_engine", .key = "schedule.name", .read = read_schedule},
    Flag{.name = "parallelism.recompute_layer", .key = "training.recompute", .read = read_training},
};

// Settings that are not used.
constexpr std::array unused_rows{
    SettingRow{.reason = "learning rate, its schedule, and numbers in the optimizer's update",
               .names = "optimizer.clip_grad optimizer.learning_rate optimizer.optimizer_factory "
                        "optimizer.optimizer_factory. optimizer.weight_decay"},
    SettingRow{
        .reason =
            "accumulation in fp32 and asynchronous tensor parallelism, which nanotron's stack "
            "has",
        .names = "optimizer.accumulate_grad_in_fp32 parallelism.tp_linear_async_communication "
                 "parallelism.tp_recompute_allgather"},
    SettingRow{.reason = "data and tokenizer, which load beside training",
               .names = "data_stages data_stages. tokenizer."},
    SettingRow{.reason = "number of iterations, which are alike",
               .names = "tokens.limit_ tokens.train_steps tokens.val_"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "checkpoints. s3_upload s3_upload."},
    SettingRow{
        .reason = "logs and profiles",
        .names = "general. lighteval lighteval. logging. metrics_logging metrics_logging. profiler "
                 "profiler."},
    SettingRow{.reason = "initial values of weights",
               .names = "model.init_method model.init_method. model.model_config.initializer_"},
    SettingRow{.reason = "numbers in scores, positions and norms of the same cost",
               .names = "model.model_config.max_position_ model.model_config.rms_norm_eps "
                        "model.model_config.rope_ model.model_config.z_loss_ "
                        "model.model_config.moe_config.router_"},
    SettingRow{.reason = "tokens with a meaning, and settings of generation",
               .names = "model.model_config.bos_ model.model_config.eos_ model.model_config.pad_ "
                        "model.model_config.is_ model.model_config.pretraining_tp "
                        "model.model_config.use_cache model.model_config._"},
    SettingRow{Changes::time, "gradients would be reduced in buckets of another size",
               "model.ddp_bucket_cap_mb"},
    SettingRow{Changes::time, "tokens would travel to experts in another way",
               "model.model_config.moe_config.token_dispatcher_type"},
};

const SettingTable& known_settings() {
  static const SettingTable table({unused_rows});
  return table;
}

}  // namespace

SettingNames setting_names() {
  return {.others = {}, .flags = nanotron_flags, .unused = {&known_settings()}};
}

bool recognise(const SourceText& file) {
  return file.is_yaml() && file.has("parallelism:") &&
         (file.has("batch_accumulation_per_replica:") || file.has("pp_engine:"));
}

Job read_job(const JobInput& input) {
  Request request = empty_request(input);
  for (const Source& source : input.sources) {
    flatten(read_yaml(source, nanotron_config, input.words), "{}: {}", "", request.settings);
  }
  apply_gpus(input.words, request);
  Draft draft(std::move(request));
  read_flags(nanotron_flags, draft, true);
  for (const char* const key : {"parallel.dp", "model.sequence", "microbatches"})
    if (draft.at(key) == nullptr) draft.lacks(key);
  draft.sort_rest(known_settings(), names_of(nanotron_flags));
  return draft.take();
}

}  // namespace pipewright::jobs::nanotron
