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

struct Alias {
  std::string_view key;  // of the JSON, dotted
  std::string_view flag;
};
constexpr std::array aliases{
    Alias{"train_micro_batch_size_per_gpu", "micro_batch_size"},
    Alias{"train_batch_size", "global_batch_size"},
    Alias{"gradient_accumulation_steps", "gradient_accumulation_steps"},
    Alias{"zero_optimization.stage", "zero_stage"},
    Alias{"zero_optimization.overlap_comm", "overlap_grad_reduce"},
    Alias{"zero_optimization.reduce_bucket_size", "ddp_bucket_size"},
    Alias{"bf16.enabled", "bf16"},
    Alias{"bfloat16.enabled", "bf16"},
    Alias{"fp16.enabled", "fp16"},
    Alias{"pipeline.stages", "pipeline_model_parallel_size"},
    Alias{"tensor_parallel.autotp_size", "tensor_model_parallel_size"},
    Alias{"sequence_parallel_size", "ds_sequence_parallel_size"},
};

// Sections and keys that change nothing here.
constexpr std::array quiet{"activation_checkpointing",
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

const Setting* last(const Request& request, std::string_view name) {
  const Setting* found = nullptr;
  for (const Setting& one : request.settings)
    if (one.name == name && !one.values.empty() && one.values.front() != "auto") found = &one;
  return found;
}

bool is_config(const SourceText& file) {
  return file.is_json() &&
         (file.has("\"train_batch_size\"") || file.has("\"train_micro_batch_size_per_gpu\"") ||
          file.has("\"zero_optimization\"") || file.has("\"gradient_accumulation_steps\""));
}

// Reads a configuration that a script writes; its lines are counted from the script's line `line`.
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
  Job job = megatron::read(std::move(request));
  if (!is_deepspeed) job.framework = "megatron";
  return job;
}

void read_config(const Source& source, Request& request) {
  std::vector<Setting> found;
  flatten(config::read_yaml_text(source.text, source.name, deepspeed_config), "\"{}\": {}", "",
          found);
  for (Setting& one : found) {
    const std::string value = one.values.empty() ? "" : one.values.front();
    const bool offloads = one.name.find("offload_") != std::string::npos;
    // The trainer fills in what is "auto".
    if (value == "auto" || value == "null" || (offloads && says_no(value))) continue;
    const auto alias = std::ranges::find(aliases, std::string_view(one.name), &Alias::key);
    if (alias != aliases.end()) {
      one.name = alias->flag;
      // 5e8 elements
      if (one.name == "ddp_bucket_size" && value.find('e') != std::string::npos) one.name = "log_";
    } else if (one.name == "data_types.grad_accum_dtype" || one.name == "communication_data_type") {
      if (value.find("16") != std::string::npos) {
        one.name = "grad_reduce_in_bf16";
        one.values = {"true"};
      } else {
        one.name = "accumulate_allreduce_grads_in_fp32";
        one.values = {"true"};
      }
    } else if ((offloads && !one.name.ends_with("device")) ||
               std::ranges::any_of(
                   quiet, [&](std::string_view known) { return one.name.starts_with(known); })) {
      one.name = "log_" + one.name;  // as flags of logs: no effect
    }
    request.settings.push_back(std::move(one));
  }
}

void settle(Request& request) {
  const Setting* const micro = last(request, "micro_batch_size");
  const Setting* const steps = last(request, "gradient_accumulation_steps");
  const Setting* const batch = last(request, "global_batch_size");
  const auto size = [&](std::string_view name) {
    const Setting* const one = last(request, name);
    return one == nullptr ? std::uint64_t{1} : std::max<std::uint64_t>(whole_number(*one), 1);
  };
  constexpr std::uint64_t most = 1U << 20U;
  const std::uint64_t tp = size("tensor_model_parallel_size");
  const std::uint64_t pp = size("pipeline_model_parallel_size");
  const std::uint64_t sp = size("ds_sequence_parallel_size");
  if (tp > most || pp > most || sp > most || micro == nullptr || steps == nullptr) return;
  // The batch says how many replicas there are, and so GPUs.
  if (const std::uint64_t of_replica = whole_number(*micro) * whole_number(*steps);
      !request.gpus && batch != nullptr && of_replica > 0 && whole_number(*micro) < most &&
      whole_number(*steps) < most && whole_number(*batch) % of_replica == 0) {
    request.gpus = whole_number(*batch) / of_replica * tp * pp * sp;
    request.gpus_from = batch->written;
    request.gpus_origin = batch->origin;
  }
  if (!request.gpus) return;
  const std::uint64_t dp = *request.gpus / std::max<std::uint64_t>(tp * pp * sp, 1);
  const std::uint64_t one = whole_number(*micro);
  const std::uint64_t times = whole_number(*steps);
  if (one > most || times > most || dp == 0) return;
  const std::uint64_t product = one * times * dp;
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
                              whole_number(*batch), one, times, dp));
  }
}

}  // namespace pipewright::jobs::deepspeed
