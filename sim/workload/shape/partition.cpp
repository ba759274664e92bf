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

using Counts = std::vector<std::uint32_t>;

using Rule = config::Partition::Rule;

constexpr std::array<std::pair<Rule, std::string_view>, 3> rules{
    {{Rule::even, "even"}, {Rule::ends_less, "ends_less"}, {Rule::by_cost, "by_cost"}}};

// "12 stages (4 devices with 3 chunks each)"
std::string stages_text(std::uint32_t devices, std::uint32_t stages) {
  std::string count = stages == 1 ? "1 stage" : fmt::format("{} stages", stages);
  if (devices == 0 || stages == devices || stages % devices != 0) return count;
  return fmt::format("{} ({} {} with {} chunks each)", count, devices,
                     devices == 1 ? "device" : "devices", stages / devices);
}

config::Error refuse(const config::Model& model, const config::Partition& partition,
                     std::string_view text) {
  const bool placed = partition.origin.line > 0 || !partition.origin.source.empty();
  return config::Error(config::locate(placed ? partition.origin : model.origin, text));
}

// "; allowed: a list of 4, or partition even"
std::string or_rule(const config::Partition& partition, const config::Model& model,
                    std::uint32_t stages) {
  const std::vector<std::string_view> others = other_partitions(partition, model.layers, stages);
  return fmt::format("; allowed: a list of {} that come to {} layers{}{}", stages, model.layers,
                     others.empty() ? "" : ", or partition ", fmt::join(others, " or "));
}

// A layout names every layer of the model.
void check_layout(const config::Model& model, const config::Partition& partition,
                  std::uint32_t devices, std::uint32_t stages) {
  const auto require = [&](std::uint64_t has, const std::string& what, std::uint64_t needs,
                           std::string_view who) {
    if (has != needs)
      throw refuse(model, partition,
                   fmt::format("partition {} has {} {}; {} {}; allowed: as many", partition.text,
                               has, what, who, needs));
  };
  if (partition.layers.size() != stages)
    throw refuse(
        model, partition,
        fmt::format("partition {} has {} stages; this schedule has {}; allowed: as many, "
                    "by | between them",
                    partition.text, partition.layers.size(), stages_text(devices, stages)));
  const auto sum = [](const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  require(sum(partition.layers), "t, layers of the transformer", model.layers, "the model has");
  require(sum(partition.mtp), "m, layers of multi-token prediction", model.mtp_layers,
          "model.mtp_layers is");
}

// The layers of a list go where it says.
void check_listed(const config::Model& model, const config::Partition& partition,
                  std::uint32_t devices, std::uint32_t stages) {
  const Counts& counts = partition.layers;
  if (counts.size() != stages)
    throw refuse(model, partition,
                 fmt::format("partition lists {} {}; this schedule has {}{}", counts.size(),
                             counts.size() == 1 ? "stage" : "stages", stages_text(devices, stages),
                             or_rule(partition, model, stages)));
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum != model.layers)
    throw refuse(
        model, partition,
        fmt::format("partition lists {} layers in all; the model has {}", sum, model.layers));
  for (std::uint32_t stage = 1; stage + 1 < stages; ++stage)
    if (counts[stage] == 0)
      throw refuse(model, partition,
                   fmt::format("partition gives stage {} no layer; only the first and the last "
                               "stage may have none",
                               stage));
}

// "2 or 13 stages"
std::string stages_allowed(const config::Partition& partition, std::uint32_t layers,
                           std::uint32_t stages) {
  const std::vector<std::uint32_t> counts = nearest(stages, layers + 2, [&](std::uint32_t count) {
    return can_deal_out(partition, layers, count, count);
  });
  return fmt::format("{} stages", fmt::join(counts, " or "));
}

void check(const config::Model& model, const config::Partition& partition, std::uint32_t devices,
           std::uint32_t stages) {
  if (partition.rule == Rule::listed) return check_listed(model, partition, devices, stages);
  if (partition.rule == Rule::layout) return check_layout(model, partition, devices, stages);
  if (can_deal_out(partition, model.layers, devices, stages)) return;
  const std::vector<std::string_view> others = other_partitions(partition, model.layers, stages);
  std::string allowed = stages_allowed(partition, model.layers, stages);
  if (!others.empty()) allowed += fmt::format(", or partition {}", fmt::join(others, " or "));
  throw refuse(model, partition,
               fmt::format("{} {} do not go into {}: {}; allowed: {}", model.layers,
                           model.layers == 1 ? "layer" : "layers", stages_text(devices, stages),
                           what_it_needs(partition), allowed));
}

Counts even(std::uint32_t layers, std::uint32_t stages) {
  Counts counts(stages, layers / stages);
  std::fill_n(counts.begin(), layers % stages, layers / stages + 1);
  return counts;
}

// What counts as a layer beside those of the model.
std::uint32_t layers_more(const config::Partition& partition) {
  return (partition.embedding_counts ? 1 : 0) + (partition.loss_counts ? 1 : 0);
}

Counts ends_less(const config::Partition& partition, std::uint32_t layers, std::uint32_t stages) {
  Counts counts(stages, (layers + layers_more(partition)) / stages);
  if (partition.embedding_counts) --counts.front();
  if (partition.loss_counts) --counts.back();
  return counts;
}

// What is dealt out evenly between the ends, and on how many devices.
struct Between {
  std::int64_t layers;
  std::uint32_t devices;
};
Between between(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices) {
  const std::uint32_t given = (partition.first ? 1 : 0) + (partition.last ? 1 : 0);
  return {std::int64_t{layers} - partition.first.value_or(0) - partition.last.value_or(0),
          devices < given ? 0 : devices - given};
}

// As Megatron-LM does, each device shares its layers out to its chunks in equal parts.
Counts with_ends(const config::Partition& partition, std::uint32_t layers,
                 const std::vector<std::uint32_t>& device_of) {
  const std::uint32_t devices = std::ranges::max(device_of) + 1;
  const std::uint32_t chunks = static_cast<std::uint32_t>(device_of.size()) / devices;
  const Between rest = between(partition, layers, devices);
  Counts counts;
  for (const std::uint32_t device : device_of) {
    if (device == 0 && partition.first)
      counts.push_back(*partition.first / chunks);
    else if (device + 1 == devices && partition.last)
      counts.push_back(*partition.last / chunks);
    else
      counts.push_back(static_cast<std::uint32_t>(rest.layers) / rest.devices / chunks);
  }
  return counts;
}

bool can_have_ends(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices,
                   std::uint32_t stages) {
  const std::uint32_t chunks = stages / devices;
  const bool whole = stages % devices == 0 && partition.first.value_or(0) % chunks == 0 &&
                     partition.last.value_or(0) % chunks == 0;
  if (!whole || (partition.first && partition.last && devices < 2)) return false;
  const Between rest = between(partition, layers, devices);
  if (rest.devices == 0) return rest.layers == 0;
  return rest.layers > 0 && rest.layers % (std::int64_t{rest.devices} * chunks) == 0;
}

// The least greatest time of a stage; among those, the times as equal as may be.
class ByCost {
 public:
  ByCost(std::uint32_t layers, std::uint32_t stages, const StageSeconds& seconds)
      : layers_(layers), stages_(stages), seconds_(seconds) {}

  Counts solve() {
    const double limit = best([](double sum, double next) { return std::max(sum, next); },
                              std::numeric_limits<double>::infinity());
    best([](double sum, double next) { return sum + next * next; }, limit * (1 + 1e-12));
    Counts counts(stages_);
    std::uint32_t end = layers_;
    for (std::uint32_t stage = stages_; stage-- > 0;) {
      const std::uint32_t begin = from_[place(stage, end)];
      counts[stage] = end - begin;
      end = begin;
    }
    return counts;
  }

 private:
  std::size_t place(std::uint32_t stage, std::uint32_t end) const {
    return std::size_t{stage} * (layers_ + 1) + end;
  }

  // Dynamic programming over the stages and the layers that they have taken so far; no stage may
  // take more than `limit`.
  template <class Join>
  double best(const Join& join, double limit) {
    constexpr double never = std::numeric_limits<double>::infinity();
    from_.assign(std::size_t{stages_} * (layers_ + 1), 0);
    std::vector<double> before(layers_ + 1, never);
    before[0] = 0;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      std::vector<double> after(layers_ + 1, never);
      const std::uint32_t least = stage == 0 || stage + 1 == stages_ ? 0 : 1;
      for (std::uint32_t end = least; end <= layers_; ++end)
        for (std::uint32_t begin = 0; begin + least <= end; ++begin) {
          if (before[begin] == never) continue;
          const double own = seconds_(stage, {begin, end - begin});
          if (own > limit) continue;
          const double joined = join(before[begin], own);
          if (joined >= after[end]) continue;
          after[end] = joined;
          from_[place(stage, end)] = begin;
        }
      before = std::move(after);
    }
    return before[layers_];
  }

  std::uint32_t layers_;
  std::uint32_t stages_;
  const StageSeconds& seconds_;
  Counts from_;  // by stage and the layers dealt out after it: before it
};

}  // namespace

bool can_deal_out(const config::Partition& partition, std::uint32_t layers, std::uint32_t devices,
                  std::uint32_t stages) {
  const std::uint64_t most = layers;
  switch (partition.rule) {
    case Rule::even:  // the last stage alone may go without
      return stages <= 2 || stages <= most + 1;
    case Rule::ends_less:
      return stages >= 2 && most + layers_more(partition) >= stages &&
             (most + layers_more(partition)) % stages == 0;
    case Rule::by_cost:
      return stages <= most + 2;
    case Rule::ends:
      return can_have_ends(partition, layers, devices, stages);
    case Rule::listed:
    case Rule::layout:
      break;
  }
  const Counts& counts = partition.layers;
  return counts.size() == stages &&
         std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == layers &&
         (stages <= 2 || partition.rule == Rule::layout ||
          std::find(counts.begin() + 1, counts.end() - 1, 0U) == counts.end() - 1);
}

std::vector<std::string_view> other_partitions(const config::Partition& partition,
                                               std::uint32_t layers, std::uint32_t stages) {
  std::vector<std::string_view> names;
  for (const auto& [rule, name] : rules)
    if (rule != partition.rule && can_deal_out({rule, {}, {}}, layers, stages, stages))
      names.push_back(name);
  return names;
}

std::string what_it_needs(const config::Partition& partition) {
  switch (partition.rule) {
    case Rule::even:
      return "partition even gives every stage but the last at least one";
    case Rule::ends_less:
      if (!partition.loss_counts || !partition.embedding_counts)
        return fmt::format("partition {} gives all stages the same number, the {} one fewer",
                           to_string(partition), partition.loss_counts ? "last" : "first");
      return "partition ends_less gives all stages the same number, the first and the last one "
             "fewer";
    case Rule::ends:
      return fmt::format(
          "partition {} gives the devices between the ends the same number, and "
          "each device its chunks in equal parts",
          to_string(partition));
    case Rule::by_cost:
      return "partition by_cost gives every stage but the first and the last at least one";
    case Rule::listed:
    case Rule::layout:
      break;
  }
  return "partition lists other numbers";
}

StageParts stage_with(const config::Model& model, const config::Partition& partition,
                      std::uint32_t stages, std::uint32_t stage, LayerRange layers) {
  const bool is_last = stage + 1 == stages;
  const std::uint32_t usual = is_last ? model.mtp_layers : 0;
  return {.layers = layers,
          .mtp = partition.rule == Rule::layout ? partition.mtp[stage] : usual,
          .embedding = stage == 0,
          .head = is_last};
}

std::vector<StageParts> partition_stages(const config::Model& model,
                                         const config::Partition& partition,
                                         const std::vector<std::uint32_t>& device_of,
                                         const StageSeconds& seconds) {
  const auto stages = static_cast<std::uint32_t>(device_of.size());
  check(model, partition, std::ranges::max(device_of) + 1, stages);
  Counts counts;
  switch (partition.rule) {
    case Rule::even:
      counts = even(model.layers, stages);
      break;
    case Rule::ends_less:
      counts = ends_less(partition, model.layers, stages);
      break;
    case Rule::by_cost:
      counts = ByCost(model.layers, stages, seconds).solve();
      break;
    case Rule::ends:
      counts = with_ends(partition, model.layers, device_of);
      break;
    case Rule::listed:
    case Rule::layout:
      counts = partition.layers;
      break;
  }
  std::vector<StageParts> parts;
  std::uint32_t first = 0;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    parts.push_back(stage_with(model, partition, stages, stage, {first, counts[stage]}));
    first += counts[stage];
  }
  return parts;
}

}  // namespace pipewright::workload
