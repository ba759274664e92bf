#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

namespace pipewright::jobs::deepspeed {
namespace {

constexpr config::Document deepspeed_config{"a configuration", "train_batch_size",
                                            "\"train_batch_size\": 32", true};

struct ConfigAlias {
  std::string_view key;  // dotted key of the JSON
  std::string_view flag;
};
constexpr std::array config_aliases{
    ConfigAlias{"train_micro_batch_size_per_gpu", "micro_batch_size"},
    ConfigAlias{"train_batch_size", "global_batch_size"},
    ConfigAlias{"gradient_accumulation_steps", "gradient_accumulation_steps"},
    ConfigAlias{"zero_optimization.stage", "zero_stage"},
    ConfigAlias{"zero_optimization.overlap_comm", "overlap_grad_reduce"},
    ConfigAlias{"zero_optimization.reduce_bucket_size", "ddp_bucket_size"},
    ConfigAlias{"bf16.enabled", "bf16"},
    ConfigAlias{"bfloat16.enabled", "bf16"},
    ConfigAlias{"fp16.enabled", "fp16"},
    ConfigAlias{"pipeline.stages", "pipeline_model_parallel_size"},
    ConfigAlias{"tensor_parallel.autotp_size", "tensor_model_parallel_size"},
    ConfigAlias{"sequence_parallel_size", "ds_sequence_parallel_size"},
};

// Sections and keys of the JSON that have no effect on a prediction.
constexpr std::array quiet_prefixes{"activation_checkpointing",
                                    "amp.",
                                    "aio.",
                                    "autotuning",
                                    "bf16.",
                                    "comms_logger",
                                    "csv_monitor",
                                    "curriculum_learning",
                                    "data_efficiency",
                                    "disable_allgather",
                                    "dump_state",
                                    "elasticity",
                                    "flops_profiler",
                                    "fp16.",
                                    "gradient_clipping",
                                    "gradient_predivide_factor",
                                    "memory_breakdown",
                                    "monitor",
                                    "optimizer.",
                                    "pipeline.",
                                    "prescale_gradients",
                                    "scheduler.",
                                    "steps_per_print",
                                    "tensorboard",
                                    "wall_clock_breakdown",
                                    "wandb",
                                    "zero_allow_untested_optimizer",
                                    "zero_force_ds_cpu_optimizer",
                                    "zero_optimization.allgather_",
                                    "zero_optimization.contiguous_",
                                    "zero_optimization.elastic_",
                                    "zero_optimization.ignore_unused",
                                    "zero_optimization.load_",
                                    "zero_optimization.reduce_scatter",
                                    "zero_optimization.round_robin_",
                                    "zero_optimization.stage3_",
                                    "zero_optimization.sub_group_size",
                                    "zero_optimization.param_",
                                    "zero_optimization.prefetch_",
                                    "zero_optimization.gather_16bit",
                                    "checkpoint",
                                    "dataloader",
                                    "compression_training",
                                    "hybrid_engine",
                                    "use_node_local_storage",
                                    "eigenvalue",
                                    "progressive_",
                                    "sparse_gradients",
                                    "data_types."};

const Setting* last_setting(const Request& request, std::string_view name) {
  const Setting* match = nullptr;
  for (const Setting& setting : request.settings)
    if (setting.name == name && !setting.values.empty() && setting.values.front() != "auto")
      match = &setting;
  return match;
}

bool is_config(const SourceText& file) {
  return file.is_json() &&
         (file.has("\"train_batch_size\"") || file.has("\"train_micro_batch_size_per_gpu\"") ||
          file.has("\"zero_optimization\"") || file.has("\"gradient_accumulation_steps\""));
}

// Reads a configuration that a script contains from line `line` on; locations of its settings are
// lines of the script.
void read_document(const Source& document, int line, Request& request) {
  const std::size_t before = request.settings.size();
  read_config(document, request);
  for (std::size_t i = before; i < request.settings.size(); ++i)
    request.settings[i].origin.line += line - 1;
}

}  // namespace

bool recognise(const SourceText& file) {
  return is_config(file) || (file.has("--deepspeed") && megatron::is_script(file));
}

Job read_job(const JobInput& input) {
  std::vector<Source> flag_files;
  std::vector<Source> configs;
  for (const Source& source : input.sources)
    (is_config(SourceText(source)) ? configs : flag_files).push_back(source);
  Request request = empty_request(input);
  bool starts_deepspeed = false;
  if (!flag_files.empty()) {
    megatron::FileSettings files = megatron::read_files({flag_files, input.words});
    files.request.name = request.name;
    files.request.single = request.single;
    request = std::move(files.request);
    starts_deepspeed = std::ranges::any_of(
        request.settings, [](const Setting& setting) { return setting.name == "deepspeed"; });
    for (const Word& document : files.script.documents) {
      const Source source{document.origin.source, document.text};
      if (starts_deepspeed && is_config(SourceText(source)) && !unknown_in(document.text))
        read_document(source, document.origin.line, request);
    }
  }
  for (const Source& config : configs) read_config(config, request);
  apply_gpus(input.words, request);
  const bool is_deepspeed = starts_deepspeed || !configs.empty();
  if (is_deepspeed) {
    request.dialect = Dialect::deepspeed;
    settle(request);
  }
  const bool is_older = megatron::is_older(request);
  Job job = megatron::read(std::move(request));
  if (!is_deepspeed) job.framework = "megatron";
  if (is_older) name_stack(job, megatron::older_stack);
  return job;
}

void read_config(const Source& source, Request& request) {
  std::vector<Setting> settings;
  flatten(config::read_yaml_text(source.text, source.name, deepspeed_config), "\"{}\": {}", "",
          settings);
  for (Setting& setting : settings) {
    const std::string value = setting.values.empty() ? "" : setting.values.front();
    const bool offloads = setting.name.find("offload_") != std::string::npos;
    // Values "auto" are filled in by the training program.
    if (value == "auto" || value == "null" || (offloads && says_no(value))) continue;
    const auto alias =
        std::ranges::find(config_aliases, std::string_view(setting.name), &ConfigAlias::key);
    if (alias != config_aliases.end()) {
      setting.name = alias->flag;
      // 5e8 elements
      if (setting.name == "ddp_bucket_size" && value.find('e') != std::string::npos)
        setting.name = "log_";
    } else if (setting.name == "data_types.grad_accum_dtype" ||
               setting.name == "communication_data_type") {
      if (value.find("16") != std::string::npos) {
        setting.name = "grad_reduce_in_bf16";
        setting.values = {"true"};
      } else {
        setting.name = "accumulate_allreduce_grads_in_fp32";
        setting.values = {"true"};
      }
    } else if ((offloads && !setting.name.ends_with("device")) ||
               std::ranges::any_of(quiet_prefixes, [&](std::string_view prefix) {
                 return setting.name.starts_with(prefix);
               })) {
      setting.name = "log_" + setting.name;  // has no effect, like flags of logs
    }
    request.settings.push_back(std::move(setting));
  }
}

void settle(Request& request) {
  const Setting* const micro = last_setting(request, "micro_batch_size");
  const Setting* const steps = last_setting(request, "gradient_accumulation_steps");
  const Setting* const batch = last_setting(request, "global_batch_size");
  const auto size = [&](std::string_view name) {
    const Setting* const setting = last_setting(request, name);
    return setting == nullptr ? std::uint64_t{1}
                              : std::max<std::uint64_t>(whole_number(*setting), 1);
  };
  constexpr std::uint64_t limit = 1U << 20U;
  const std::uint64_t tp =
      std::max(size("tensor_model_parallel_size"), size("model_parallel_size"));
  const std::uint64_t pp = size("pipeline_model_parallel_size");
  const std::uint64_t sp = size("ds_sequence_parallel_size");
  if (tp > limit || pp > limit || sp > limit || micro == nullptr || steps == nullptr) return;
  // The global batch determines the number of replicas, and so the number of GPUs.
  if (const std::uint64_t of_replica = whole_number(*micro) * whole_number(*steps);
      !request.gpus && batch != nullptr && of_replica > 0 && whole_number(*micro) < limit &&
      whole_number(*steps) < limit && whole_number(*batch) % of_replica == 0) {
    request.gpus = whole_number(*batch) / of_replica * tp * pp * sp;
    request.gpus_from = batch->written;
    request.gpus_origin = batch->origin;
  }
  if (!request.gpus) return;
  const std::uint64_t dp = *request.gpus / std::max<std::uint64_t>(tp * pp * sp, 1);
  const std::uint64_t samples = whole_number(*micro);
  const std::uint64_t times = whole_number(*steps);
  if (samples > limit || times > limit || dp == 0) return;
  const std::uint64_t product = samples * times * dp;
  if (batch == nullptr) {
    Setting made = *steps;
    made.name = "global_batch_size";
    made.written = fmt::format("{} x {} x {} replicas", micro->written, steps->written, dp);
    made.values = {fmt::format("{}", product)};
    request.settings.push_back(std::move(made));
  } else if (whole_number(*batch) != product) {
    throw refusal(*batch,
                  fmt::format("Check batch related parameters. train_batch_size is not equal to "
                              "micro_batch_per_gpu * gradient_acc_step * world_size {} != {} * {} "
                              "* {}",
                              whole_number(*batch), samples, times, dp));
  }
}

}  // namespace pipewright::jobs::deepspeed
