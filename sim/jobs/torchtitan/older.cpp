#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

// Name of a setting before it moved.
struct Moved {
  std::string_view older;
  std::string_view name;
};
// torchtitan/config_manager.py of July 2024 to June 2025.
constexpr std::array moved{
    Moved{"training.batch_size", "training.local_batch_size"},
    Moved{"training.compile", "compile.enable"},
    Moved{"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    Moved{"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
    Moved{"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
    Moved{"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
    Moved{"training.enable_loss_parallel", "parallelism.disable_loss_parallel"},
    Moved{"training.warmup_steps", "lr_scheduler.warmup_steps"},
    Moved{"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
    Moved{"experimental.context_parallel_rotate_method",
          "parallelism.context_parallel_rotate_method"},
    Moved{"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
    Moved{"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
    Moved{"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
    Moved{"experimental.pipeline_parallel_schedule_csv",
          "parallelism.pipeline_parallel_schedule_csv"},
    Moved{"experimental.pipeline_parallel_split_points",
          "parallelism.pipeline_parallel_split_points"},
    Moved{"experimental.pipeline_parallel_split_mode", "job.pipeline_parallel_split_mode"},
    Moved{"experimental.pipeline_parallel_microbatches",
          "parallelism.pipeline_parallel_microbatches"},
    Moved{"float8.enable_fsdp_float8_all_gather",
          "quantize.linear.float8.enable_fsdp_float8_all_gather"},
};

const Setting* setting_named(const std::vector<Setting>& settings, std::string_view name) {
  const auto setting = std::ranges::find(settings, name, &Setting::name);
  return setting == settings.end() || setting->values.empty() ? nullptr : &*setting;
}

Setting setting_like(const Setting& from, std::string name, std::string value) {
  return {.name = std::move(name),
          .values = {std::move(value)},
          .written = from.written,
          .origin = from.origin};
}

// A pipeline divided the batch of a rank into as many microbatches as devices by default, and the
// layers without regard to embedding and loss.
void add_pipeline(std::vector<Setting>& settings) {
  const Setting* const pp = setting_named(settings, "parallelism.pipeline_parallel_degree");
  if (pp == nullptr || whole_number(*pp) < 2) return;
  const Setting* const asked =
      setting_named(settings, "parallelism.pipeline_parallel_microbatches");
  const Setting* const batch = setting_named(settings, "training.local_batch_size");
  const Setting& parts = asked != nullptr ? *asked : *pp;
  const std::uint64_t microbatches = whole_number(parts);
  const std::uint64_t samples = batch != nullptr ? whole_number(*batch) : 8;
  if (microbatches == 0 || samples % microbatches != 0)
    throw refusal(parts, fmt::format("{} samples of a rank do not divide into {} microbatches",
                                     samples, microbatches));
  std::vector<Setting> added{setting_like(parts, "parallelism.pipeline_parallel_microbatch_size",
                                          fmt::format("{}", samples / microbatches))};
  for (const char* const end : {"first", "last"})
    added.push_back(setting_like(
        *pp, fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", end), "0"));
  std::erase_if(settings, [](const Setting& setting) {
    return setting.name == "parallelism.pipeline_parallel_microbatches";
  });
  settings.insert(settings.end(), added.begin(), added.end());
}

}  // namespace

void rename_older(std::vector<Setting>& settings) {
  bool is_older = false;
  for (Setting& setting : settings) {
    const auto row = std::ranges::find(moved, std::string_view(setting.name), &Moved::older);
    if (row != moved.end()) setting.name = row->name;
    is_older = is_older || (row != moved.end() && row->older.starts_with("experimental.pipeline_"));
    const bool is_eight =
        (setting.name == "float8.enable_float8_linear" || setting.name == "training.fp8_linear") &&
        !setting.values.empty() && !is_off(setting.values.front());
    if (is_eight) {
      setting.name = "model.converters";
      setting.values = {"float8"};
    }
  }
  if (is_older || setting_named(settings, "parallelism.pipeline_parallel_microbatches") != nullptr)
    add_pipeline(settings);
}

}  // namespace pipewright::jobs::torchtitan
