#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

namespace pipewright::jobs::deepspeed {
namespace {

constexpr config::Document deepspeed_config{"a configuration", "train_batch_size",
                                            "\"train_batch_size\": 32", true};

constexpr std::array alias_rows{
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

const Setting* last_setting(const Request& request, std::string_view name) {
  const Setting* match = nullptr;
  for (const Setting& setting : request.settings)
    if (setting.name == name && !setting.values.empty() && setting.values.front() != "auto")
      match = &setting;
  return match;
}

// Text of a whole number that JSON may write with an exponent: "500000000" for "5e8".
std::string whole_text(const std::string& text) {
  const std::optional<double> value = base::parse_number<double>(text);
  constexpr double largest = 1e15;
  return value && *value >= 0 && *value < largest ? fmt::format("{:.0f}", *value) : text;
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

// Reads the configuration that a flag of the script names: --deepspeed_config, or --deepspeed of
// other programs. Throws config::Error if the file is not there, as the level of ZeRO would be
// missing.
void read_named_config(Request& request) {
  const auto is_name = [](const Setting& setting) {
    return !setting.values.empty() && (setting.name == "deepspeed_config" ||
                                       (setting.name == "deepspeed" &&
                                        setting.values.front().find(".json") != std::string::npos));
  };
  const auto named = std::ranges::find_if(request.settings, is_name);
  if (named == request.settings.end()) return;
  const Setting setting = *named;
  if (const auto source = find_source(setting.values.front(), setting.origin.source))
    return read_config(*source, request);
  // The flag --zero-stage of Megatron-DeepSpeed repeats the level.
  if (std::ranges::find(request.settings, "zero_stage", &Setting::name) != request.settings.end())
    return request.assumed.push_back(
        fmt::format("{}: the file is not there, so that only --zero-stage is known of it",
                    readable(setting.written)));
  throw refusal(setting,
                fmt::format("the configuration, which sets the level of ZeRO, is neither beside {} "
                            "nor in a folder above",
                            setting.origin.source))
      .suggest("give the JSON as another file of the job");
}

}  // namespace

std::span<const ConfigAlias> config_aliases() { return alias_rows; }

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
    bool has_config = !configs.empty();
    for (const Word& document : files.script.documents) {
      const Source source{document.origin.source, document.text};
      if (!starts_deepspeed || !is_config(SourceText(source)) || unknown_in(document.text))
        continue;
      read_document(source, document.origin.line, request);
      has_config = true;
    }
    if (starts_deepspeed && !has_config) read_named_config(request);
  }
  for (const Source& config : configs) read_config(config, request);
  apply_gpus(input.words, request);
  const bool is_deepspeed = starts_deepspeed || !configs.empty();
  if (is_deepspeed) {
    request.dialect = Dialect::deepspeed;
    request.own.table = &known_settings();
    for (const ConfigAlias& alias : alias_rows) request.own.names.push_back(alias.key);
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
    // Values "auto" are filled in by the training program.
    if (value == "auto" || value == "null") continue;
    const auto alias =
        std::ranges::find(alias_rows, std::string_view(setting.name), &ConfigAlias::key);
    if (alias != alias_rows.end()) {
      setting.name = alias->flag;
      if (setting.name == "ddp_bucket_size") setting.values = {whole_text(value)};
    } else if (setting.name == "data_types.grad_accum_dtype" ||
               setting.name == "communication_data_type") {
      const bool is_short = value.find("16") != std::string::npos;
      setting.name = is_short ? "grad_reduce_in_bf16" : "accumulate_allreduce_grads_in_fp32";
      setting.values = {"true"};
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
