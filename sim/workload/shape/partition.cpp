#include "sim/workload/shape/partition.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::workload {
namespace {

using LayerCounts = std::vector<std::uint32_t>;

using Rule = config::Partition::Rule;

constexpr std::array<std::pair<Rule, std::string_view>, 3> partition_rules{
    {{Rule::even, "even"}, {Rule::ends_less, "ends_less"}, {Rule::by_cost, "by_cost"}}};

// Describes a number of stages for an error message: "12 stages (4 devices with 3 chunks each)".
std::string stages_text(std::uint32_t devices, std::uint32_t stages) {
  std::string count = stages == 1 ? "1 stage" : fmt::format("{} stages", stages);
  if (devices == 0 || stages == devices || stages % devices != 0) return count;
  return fmt::format("{} ({} {} with {} chunks each)", count, devices,
                     devices == 1 ? "device" : "devices", stages / devices);
}

config::Error partition_error(const config::Model& model, const config::Partition& partition,
                              std::string_view text) {
  const bool placed = partition.origin.line > 0 || !partition.origin.source.empty();
  return config::Error(config::locate(placed ? partition.origin : model.origin, text));
}

// Describes valid partitions: "a list of 4 that adds up to 24 layers, or partition even".
std::string allowed_lists(const config::Partition& partition, const config::Model& model,
                          std::uint32_t stages) {
  const std::vector<std::string_view> alternatives = other_partitions(partition, model, stages);
  return fmt::format("a list of {} that adds up to {} layers{}{}", stages, model.layers,
                     alternatives.empty() ? "" : ", or partition ",
                     fmt::join(alternatives, " or "));
}

// Throws config::Error unless a pipeline layout has as many stages as the schedule and contains
// every layer of the model.
void check_pipeline_layout(const config::Model& model, const config::Partition& partition,
                           std::uint32_t devices, std::uint32_t stages) {
  const auto require = [&](std::uint64_t count, const std::string& layers, std::uint64_t required,
                           std::string_view owner) {
    if (count != required)
      throw partition_error(model, partition,
                            fmt::format("partition {} has {} {}; {} {}", partition.text, count,
                                        layers, owner, required))
          .allow("the same number");
  };
  if (partition.layers.size() != stages)
    throw partition_error(
        model, partition,
        fmt::format("partition {} has {} stages; this schedule has {}", partition.text,
                    partition.layers.size(), stages_text(devices, stages)))
        .allow("the same number, separated by |");
  const auto sum = [](const LayerCounts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  require(sum(partition.layers), "transformer layers (t)", model.layers, "the model has");
  require(sum(partition.mtp), "multi-token prediction layers (m)", model.mtp_layers,
          "model.mtp_layers is");
  const auto has_module = [](std::uint32_t modules) { return modules > 0; };
  if (model.mtp_use_repeated_layer && std::ranges::count_if(partition.mtp, has_module) > 1)
    throw partition_error(model, partition,
                          fmt::format("partition {} has multi-token prediction layers (m) in "
                                      "several stages, and model.mtp_use_repeated_layer is true: "
                                      "all of them have the same weights",
                                      partition.text))
        .allow("one stage with all of them");
}

// Throws config::Error unless every stage except possibly the first and the last has layers.
void check_dealt(const config::Model& model, const config::Partition& partition,
                 const LayerCounts& counts) {
  for (std::size_t stage = 1; stage + 1 < counts.size(); ++stage)
    if (counts[stage] == 0)
      throw partition_error(
          model, partition,
          fmt::format("partition gives stage {} no layer; only the first and last "
                      "stages may be empty",
                      stage));
}

// Throws config::Error unless a list of layers per stage has one entry per stage, adds up to the
// model's layers, and gives layers to every stage except possibly the first and the last.
void check_listed_counts(const config::Model& model, const config::Partition& partition,
                         std::uint32_t devices, std::uint32_t stages) {
  const LayerCounts& counts = partition.layers;
  if (counts.size() != stages)
    throw partition_error(
        model, partition,
        fmt::format("partition lists {} {}; this schedule has {}", counts.size(),
                    counts.size() == 1 ? "stage" : "stages", stages_text(devices, stages)))
        .allow(allowed_lists(partition, model, stages));
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum != model.layers)
    throw partition_error(
        model, partition,
        fmt::format("partition lists {} layers; the model has {}", sum, model.layers));
  check_dealt(model, partition, counts);
}

// Describes the nearest numbers of stages among which the partition can divide the layers: "2 or 13
// stages".
std::string stages_allowed(const config::Partition& partition, const config::Model& model,
                           std::uint32_t stages) {
  const std::vector<std::uint32_t> counts =
      nearest(stages, model.layers + 2,
              [&](std::uint32_t count) { return can_deal_out(partition, model, count, count); });
  return fmt::format("{} stages", fmt::join(counts, " or "));
}

void check_partition(const config::Model& model, const config::Partition& partition,
                     std::uint32_t devices, std::uint32_t stages) {
  if (partition.rule == Rule::listed) return check_listed_counts(model, partition, devices, stages);
  if (partition.rule == Rule::layout)
    return check_pipeline_layout(model, partition, devices, stages);
  if (can_deal_out(partition, model, devices, stages)) return;
  const std::vector<std::string_view> alternatives = other_partitions(partition, model, stages);
  std::string allowed = stages_allowed(partition, model, stages);
  if (!alternatives.empty())
    allowed += fmt::format(", or partition {}", fmt::join(alternatives, " or "));
  throw partition_error(model, partition,
                        fmt::format("{} {} cannot be divided into {}: {}", model.layers,
                                    model.layers == 1 ? "layer" : "layers",
                                    stages_text(devices, stages), partition_requirement(partition)))
      .allow(allowed);
}

LayerCounts deal_evenly(std::uint32_t layers, std::uint32_t stages) {
  LayerCounts counts(stages, layers / stages);
  std::fill_n(counts.begin(), layers % stages, layers / stages + 1);
  return counts;
}

// Returns how many of the pipeline's two ends, the embedding and the loss, count as a layer when
// layers are divided up.
std::uint32_t counted_ends(const config::Partition& partition) {
  return (partition.embedding_counts ? 1 : 0) + (partition.loss_counts ? 1 : 0);
}

LayerCounts deal_ends_less(const config::Partition& partition, std::uint32_t layers,
                           std::uint32_t stages) {
  LayerCounts counts(stages, (layers + counted_ends(partition)) / stages);
  if (partition.embedding_counts) --counts.front();
  if (partition.loss_counts) --counts.back();
  return counts;
}

// Layers that are left for the other devices if the first or the last device gets a given number of
// layers, and the number of devices that share them evenly.
struct Middle {
  std::int64_t layers;
  std::uint32_t devices;
};
Middle middle_of(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices) {
  const std::uint32_t fixed_ends = (partition.first ? 1 : 0) + (partition.last ? 1 : 0);
  return {std::int64_t{layers} - partition.first.value_or(0) - partition.last.value_or(0),
          devices < fixed_ends ? 0 : devices - fixed_ends};
}

// Divides layers among stages if the two ends of the pipeline differ from the rest. Like
// Megatron-LM, gives each chunk of a device the same number of layers.
LayerCounts deal_with_ends(const config::Partition& partition, std::uint32_t layers,
                           const std::vector<std::uint32_t>& device_of) {
  const std::uint32_t devices = std::ranges::max(device_of) + 1;
  const std::uint32_t chunks = static_cast<std::uint32_t>(device_of.size()) / devices;
  const Middle middle = middle_of(partition, layers, devices);
  LayerCounts counts;
  for (const std::uint32_t device : device_of) {
    if (device == 0 && partition.first)
      counts.push_back(*partition.first / chunks);
    else if (device + 1 == devices && partition.last)
      counts.push_back(*partition.last / chunks);
    else
      counts.push_back(static_cast<std::uint32_t>(middle.layers) / middle.devices / chunks);
  }
  return counts;
}

bool can_have_ends(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices,
                   std::uint32_t stages) {
  const std::uint32_t chunks = stages / devices;
  const bool whole = stages % devices == 0 && partition.first.value_or(0) % chunks == 0 &&
                     partition.last.value_or(0) % chunks == 0;
  if (!whole || (partition.first && partition.last && devices < 2)) return false;
  const Middle middle = middle_of(partition, layers, devices);
  if (middle.devices == 0) return middle.layers == 0;
  return middle.layers > 0 && middle.layers % (std::int64_t{middle.devices} * chunks) == 0;
}

// Finds the partition whose longest stage time is the shortest and, of several such partitions, the
// one with the smallest sum of squared stage times.
class ByCost {
 public:
  ByCost(std::uint32_t layers, std::uint32_t stages, const StageSeconds& seconds)
      : layers_(layers), stages_(stages), seconds_(seconds) {}

  LayerCounts solve() {
    const double limit = minimize([](double sum, double next) { return std::max(sum, next); },
                                  std::numeric_limits<double>::infinity());
    minimize([](double sum, double next) { return sum + next * next; }, limit * (1 + 1e-12));
    LayerCounts counts(stages_);
    std::uint32_t end = layers_;
    for (std::uint32_t stage = stages_; stage-- > 0;) {
      const std::uint32_t begin = begins_[cell_of(stage, end)];
      counts[stage] = end - begin;
      end = begin;
    }
    return counts;
  }

 private:
  std::size_t cell_of(std::uint32_t stage, std::uint32_t end) const {
    return std::size_t{stage} * (layers_ + 1) + end;
  }

  // Finds the partition with the least join of its stage times (their maximum, or the sum of their
  // squares) by dynamic programming over the stages and the number of layers that they have taken
  // so far. No stage may take longer than `limit`.
  template <class Join>
  double minimize(const Join& join, double limit) {
    constexpr double infeasible = std::numeric_limits<double>::infinity();
    begins_.assign(std::size_t{stages_} * (layers_ + 1), 0);
    std::vector<double> costs(layers_ + 1, infeasible);
    costs[0] = 0;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      std::vector<double> next_costs(layers_ + 1, infeasible);
      const std::uint32_t min_layers = stage == 0 || stage + 1 == stages_ ? 0 : 1;
      for (std::uint32_t end = min_layers; end <= layers_; ++end)
        for (std::uint32_t begin = 0; begin + min_layers <= end; ++begin) {
          if (costs[begin] == infeasible) continue;
          const double stage_seconds = seconds_(stage, {begin, end - begin});
          if (stage_seconds > limit) continue;
          const double joined = join(costs[begin], stage_seconds);
          if (joined >= next_costs[end]) continue;
          next_costs[end] = joined;
          begins_[cell_of(stage, end)] = begin;
        }
      costs = std::move(next_costs);
    }
    return costs[layers_];
  }

  std::uint32_t layers_;
  std::uint32_t stages_;
  const StageSeconds& seconds_;
  LayerCounts begins_;  // first layer of a stage, by stage and by the end of its layers
};

// Returns the weights of a layer as nanotron counts them (nanotron/models/llama.py,
// get_block_compute_costs): four square matrices of attention, whatever the number of kv_heads, and
// three matrices of an MLP, here of the experts that a token visits.
double layer_weights(const config::Model& model) {
  const double ffn = model.experts ? static_cast<double>(model.experts->top_k) * model.experts->ffn
                                   : static_cast<double>(model.ffn);
  return model.hidden * (4.0 * model.hidden + 3 * ffn);
}

// Lets each stage take layers until the weights so far exceed the stage's share of all weights,
// those of the head included (nanotron/models/base.py, build_model). Later stages may be left
// without layers.
LayerCounts deal_by_weights(const config::Model& model, std::uint32_t stages) {
  const double layer = layer_weights(model);
  const double head = static_cast<double>(model.vocabulary) * model.hidden;
  const double all = layer * model.layers + head;
  LayerCounts counts(stages);
  std::uint32_t stage = 0;
  for (std::uint32_t dealt = 1; dealt <= model.layers; ++dealt) {
    ++counts[stage];
    if (stage + 1 < stages && dealt * layer > all * (stage + 1) / stages) ++stage;
  }
  return counts;
}

// Returns whether every stage except possibly the last gets a layer.
bool can_deal_by_weights(const config::Model& model, std::uint32_t stages) {
  if (stages <= 2) return true;
  if (stages > std::uint64_t{model.layers} + 1) return false;
  const LayerCounts counts = deal_by_weights(model, stages);
  return std::find(counts.begin(), counts.end() - 1, 0U) == counts.end() - 1;
}

}  // namespace

namespace {

// Returns the partition of the stages behind that of an encoder of images with ranks of its own.
config::Partition without_encoder(config::Partition partition) {
  partition.own_encoder = false;
  return partition;
}

}  // namespace

bool can_deal_out(const config::Partition& partition, const config::Model& model,
                  std::uint32_t devices, std::uint32_t stages) {
  const std::uint64_t layer_count = model.layers;
  if (partition.own_encoder)
    return stages >= 2 && stages == devices &&
           can_deal_out(without_encoder(partition), model, devices - 1, stages - 1);
  switch (partition.rule) {
    case Rule::even:  // only the last stage may be empty
      return stages <= 2 || stages <= layer_count + 1;
    case Rule::by_weights:
      return can_deal_by_weights(model, stages);
    case Rule::ends_less:
      return stages >= 2 && layer_count + counted_ends(partition) >= stages &&
             (layer_count + counted_ends(partition)) % stages == 0;
    case Rule::by_cost:
      return stages <= layer_count + 2;
    case Rule::ends:
      return can_have_ends(partition, model.layers, devices, stages);
    case Rule::listed:
    case Rule::layout:
      break;
  }
  const LayerCounts& counts = partition.layers;
  return counts.size() == stages &&
         std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == model.layers &&
         (stages <= 2 || partition.rule == Rule::layout ||
          std::find(counts.begin() + 1, counts.end() - 1, 0U) == counts.end() - 1);
}

std::vector<std::string_view> other_partitions(const config::Partition& partition,
                                               const config::Model& model, std::uint32_t stages) {
  std::vector<std::string_view> names;
  for (const auto& [rule, name] : partition_rules)
    if (rule != partition.rule && can_deal_out({rule, {}, {}}, model, stages, stages))
      names.push_back(name);
  return names;
}

std::string partition_requirement(const config::Partition& partition) {
  if (partition.own_encoder)
    return fmt::format(
        "modules.vision.placement own_ranks leaves the first of the devices, which "
        "have one stage each, to the encoder; on the others {}",
        partition_requirement(without_encoder(partition)));
  switch (partition.rule) {
    case Rule::even:
      return "partition even needs at least one layer for every stage but the last";
    case Rule::ends_less:
      if (!partition.loss_counts || !partition.embedding_counts)
        return fmt::format(
            "partition {} needs equally many layers on all stages, one fewer on the {}",
            to_string(partition), partition.loss_counts ? "last" : "first");
      return "partition ends_less needs equally many layers on all stages, one fewer on the first "
             "and the last";
    case Rule::by_weights:
      return "partition by_weights gives stages their shares of the weights, those of the head "
             "included, and every stage but the last needs a layer";
    case Rule::ends:
      return fmt::format(
          "partition {} needs equally many layers on all devices between the ends, and "
          "on all chunks of a device",
          to_string(partition));
    case Rule::by_cost:
      return "partition by_cost needs at least one layer for every stage but the first and the "
             "last";
    case Rule::listed:
    case Rule::layout:
      break;
  }
  return "partition lists different numbers";
}

StageParts stage_with(const config::Model& model, const config::Partition& partition,
                      std::uint32_t stages, std::uint32_t stage, LayerRange layers) {
  const bool is_last = stage + 1 == stages;
  const std::uint32_t usual = is_last ? model.mtp_layers : 0;
  return {.layers = layers,
          .mtp = partition.rule == Rule::layout ? partition.mtp[stage] : usual,
          .embedding = stage == 0,
          .encoder = stage == 0,
          .head = is_last};
}

namespace {

LayerCounts deal(const config::Model& model, const config::Partition& partition,
                 const std::vector<std::uint32_t>& device_of, const StageSeconds& seconds) {
  const auto stages = static_cast<std::uint32_t>(device_of.size());
  switch (partition.rule) {
    case Rule::even:
      return deal_evenly(model.layers, stages);
    case Rule::ends_less:
      return deal_ends_less(partition, model.layers, stages);
    case Rule::by_cost:
      return ByCost(model.layers, stages, seconds).solve();
    case Rule::by_weights:
      return deal_by_weights(model, stages);
    case Rule::ends:
      return deal_with_ends(partition, model.layers, device_of);
    case Rule::listed:
    case Rule::layout:
      break;
  }
  return partition.layers;
}

// Leaves the first stage without layers, and deals them to the others.
LayerCounts deal_behind_encoder(const config::Model& model, const config::Partition& partition,
                                const std::vector<std::uint32_t>& device_of,
                                const StageSeconds& seconds) {
  std::vector<std::uint32_t> devices;
  for (std::size_t stage = 1; stage < device_of.size(); ++stage)
    devices.push_back(device_of[stage] - 1);
  LayerCounts counts = deal(model, partition, devices, [&](std::uint32_t stage, LayerRange layers) {
    return seconds(stage + 1, layers);
  });
  counts.insert(counts.begin(), 0);
  return counts;
}

}  // namespace

std::vector<StageParts> partition_stages(const config::Model& model,
                                         const config::Partition& partition,
                                         const std::vector<std::uint32_t>& device_of,
                                         const StageSeconds& seconds) {
  const auto stages = static_cast<std::uint32_t>(device_of.size());
  check_partition(model, partition, std::ranges::max(device_of) + 1, stages);
  const LayerCounts counts = partition.own_encoder
                                 ? deal_behind_encoder(model, partition, device_of, seconds)
                                 : deal(model, partition, device_of, seconds);
  std::vector<StageParts> parts;
  std::uint32_t first = 0;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    parts.push_back(stage_with(model, partition, stages, stage, {first, counts[stage]}));
    first += counts[stage];
  }
  return parts;
}

}  // namespace pipewright::workload
