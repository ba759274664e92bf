#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/model.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Whole number at a key; `otherwise` if the key is absent. None for ranges of a search.
std::optional<std::uint64_t> number_at(const config::Value& tree, std::string_view key,
                                       std::uint64_t otherwise) {
  const config::Value* const value = config::value_at(tree, key);
  if (value == nullptr) return otherwise;
  return base::parse_number<std::uint64_t>(value->text);
}

bool is_true_at(const config::Value& tree, std::string_view key) {
  const config::Value* const value = config::value_at(tree, key);
  return value != nullptr && value->text == "true";
}

// Returns whether the partition of a scenario gives all stages the same number of layers: with no
// partition, or with one that only counts embedding and loss.
bool has_equal_stages(const config::Value& tree) {
  const config::Value* const partition = config::value_at(tree, "partition");
  if (partition == nullptr) return true;
  if (partition->kind != config::Value::Kind::map) return false;
  return config::find(*partition, "first") == nullptr &&
         config::find(*partition, "last") == nullptr;
}

// Chunks of a schedule of Megatron-LM; none for schedules of forks, and for several schedules.
std::optional<std::uint64_t> chunks_at(const config::Value& tree) {
  const config::Value* const schedule = config::value_at(tree, "schedule");
  if (schedule == nullptr) return 1;
  if (schedule->kind != config::Value::Kind::map) return std::nullopt;
  const config::Value* const name = config::find(*schedule, "name");
  if (name == nullptr || (name->text != "1f1b" && name->text != "interleaved-1f1b"))
    return std::nullopt;
  return number_at(tree, "schedule.chunks", 1);
}

// Layers of the model, all of one kind; 0 if they are unknown, or if the model has a pattern, which
// may divide itself into stages.
std::uint64_t equal_layers(const config::Value& tree) {
  const config::Value* const model = config::value_at(tree, "model");
  if (model == nullptr) return 0;
  if (model->kind == config::Value::Kind::text) {
    const config::Model known = config::read_model({*model, "model"});
    return known.pattern.empty() ? known.layers : 0;
  }
  return config::find(*model, "pattern") == nullptr ? number_at(tree, "model.layers", 0).value_or(0)
                                                    : 0;
}

// Throws config::Error unless the stages have equally many layers (arguments.py, validate_args;
// transformer_block.py, get_num_layers_to_build).
void check_equal_stages(const config::Value& tree, std::uint64_t pp) {
  const std::optional<std::uint64_t> chunks = chunks_at(tree);
  if (!chunks || *chunks == 0 || pp == 1 || !has_equal_stages(tree)) return;
  std::uint64_t layers = equal_layers(tree);
  if (layers == 0) return;
  std::string_view counted = "layers";
  if (is_true_at(tree, "partition.account_for_embedding") ||
      is_true_at(tree, "partition.account_for_loss")) {
    layers += is_true_at(tree, "partition.account_for_embedding") ? 1 : 0;
    layers += is_true_at(tree, "partition.account_for_loss") ? 1 : 0;
    counted = "layers with embedding and loss as far as the split accounts for them";
  }
  constexpr std::string_view advice =
      "--pipeline-model-parallel-layout, which gives each stage "
      "its layers (partition in a scenario)";
  if (layers % pp != 0)
    throw config::Error(config::origin_of(tree, "parallel.pp"),
                        fmt::format("Number of layers should be divisible by the "
                                    "pipeline-model-parallel size ({} {}, pp {})",
                                    layers, counted, pp))
        .allow(fmt::format("a divisor, or {}", advice));
  if (layers / pp % *chunks != 0)
    throw config::Error(
        config::origin_of(tree, "schedule.chunks"),
        fmt::format("num_layers_per_pipeline_rank {} should be divisible by vp_size {} ({} {} on "
                    "{} devices)",
                    layers / pp, *chunks, layers, counted, pp))
        .allow(fmt::format("a divisor, or {}", advice));
}

// Throws config::Error if the last group of microbatches of the interleaved schedule is smaller
// than the pipeline (schedules.py, forward_backward_pipelining_with_interleaving).
void check_groups(const config::Value& tree, std::uint64_t pp) {
  const std::optional<std::uint64_t> chunks = chunks_at(tree);
  const std::optional<std::uint64_t> group = number_at(tree, "schedule.group_size", pp);
  const std::optional<std::uint64_t> batch = number_at(tree, "global_batch", 0);
  const std::optional<std::uint64_t> micro = number_at(tree, "training.microbatch_size", 1);
  const std::optional<std::uint64_t> dp = number_at(tree, "parallel.dp", 0);
  if (!chunks || *chunks < 2 || !group || !batch || !micro || !dp) return;
  if (*group == 0 || *micro == 0 || *dp == 0 || *micro > *batch || *dp > *batch) return;
  const std::uint64_t microbatches = *batch / (*micro * *dp);
  const std::uint64_t rest = microbatches % *group;
  if (microbatches >= pp && rest > 0 && rest < pp)
    throw config::Error(
        config::origin_of(tree, "global_batch"),
        fmt::format("the remainder of {} microbatches divided by the group of {} should be 0, or "
                    "larger than or equal to the pipeline-parallel size ({}), but it is {}",
                    microbatches, *group, pp, rest))
        .suggest("change the global batch, or --microbatch-group-size-per-virtual-pipeline-stage");
}

// Number of pipeline devices. Options of the command line set it by its other name.
std::optional<std::uint64_t> devices_at(const config::Value& tree) {
  const bool has_devices = config::find(tree, "devices") != nullptr;
  const std::optional<std::uint64_t> pp =
      number_at(tree, has_devices ? "devices" : "parallel.pp", 1);
  return pp == 0U ? std::nullopt : pp;
}

}  // namespace

void check_stages(const config::Value& tree) {
  if (const std::optional<std::uint64_t> pp = devices_at(tree)) check_equal_stages(tree, *pp);
}

void check_recipe(const config::Value& tree) {
  const config::Value* const model = config::value_at(tree, "model");
  const bool is_of_recipe = model != nullptr && model->kind == config::Value::Kind::text &&
                            !model->origin.source.starts_with("--");
  if (!is_of_recipe) check_stages(tree);
}

void check_layout(const config::Value& tree) {
  check_stages(tree);
  if (const std::optional<std::uint64_t> pp = devices_at(tree)) check_groups(tree, *pp);
}

}  // namespace pipewright::jobs::megatron
