#include "sim/workload/model/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using Counts = std::vector<std::uint32_t>;

// "12 stages (4 devices with 3 chunks)"
std::string stages_text(std::uint32_t devices, std::uint32_t stages) {
  if (devices == 0 || stages == devices || stages % devices != 0)
    return fmt::format("{} stages", stages);
  return fmt::format("{} stages ({} devices with {} chunks each)", stages, devices,
                     stages / devices);
}

config::Error refuse(const config::Model& model, const config::Partition& partition,
                     std::string_view text) {
  const bool placed = partition.origin.line > 0 || !partition.origin.source.empty();
  return config::Error(config::locate(placed ? partition.origin : model.origin, text));
}

Counts even(std::uint32_t layers, std::uint32_t stages) {
  Counts counts(stages, layers / stages);
  std::fill_n(counts.begin(), layers % stages, layers / stages + 1);
  return counts;
}

Counts ends_less(const config::Model& model, const config::Partition& partition,
                 std::uint32_t devices, std::uint32_t stages) {
  const std::uint32_t layers = model.layers;
  if (stages < 2 || (layers + 2) % stages != 0) {
    const std::uint32_t each = std::max(1U, (layers + 2) / stages);
    const std::uint32_t below = stages * each < 3 ? stages * (each + 1) - 2 : stages * each - 2;
    throw refuse(model, partition,
                 fmt::format("partition is ends_less, which gives each of {} the same number of "
                             "layers and the first and the last one fewer; {} layers do not go "
                             "into that; the nearest that do: {} or {} layers, or partition: even",
                             stages_text(devices, stages), layers, below, stages * (each + 1) - 2));
  }
  Counts counts(stages, (layers + 2) / stages);
  --counts.front();
  --counts.back();
  return counts;
}

Counts listed(const config::Model& model, const config::Partition& partition, std::uint32_t devices,
              std::uint32_t stages) {
  const Counts& counts = partition.layers;
  if (counts.size() != stages)
    throw refuse(model, partition,
                 fmt::format("partition lists {} stages; this schedule has {}", counts.size(),
                             stages_text(devices, stages)));
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (sum != model.layers)
    throw refuse(
        model, partition,
        fmt::format("partition lists {} layers in all; the model has {}", sum, model.layers));
  return counts;
}

// The least greatest time of a stage; among those, the times as equal as may be.
class ByCost {
 public:
  ByCost(std::uint32_t layers, std::uint32_t stages, const StageSeconds& seconds)
      : layers_(layers),
        stages_(stages),
        table_(std::size_t{stages} * (layers + 1) * (layers + 1)) {
    for (std::uint32_t stage = 0; stage < stages_; ++stage)
      for (std::uint32_t begin = 0; begin <= layers_; ++begin)
        for (std::uint32_t end = begin; end <= layers_; ++end)
          time(stage, begin, end) = seconds(stage, {begin, end - begin});
  }

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
  double& time(std::uint32_t stage, std::uint32_t begin, std::uint32_t end) {
    return table_[place(stage, begin) * (layers_ + 1) + end];
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
          const double own = time(stage, begin, end);
          if (own > limit || before[begin] == never) continue;
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
  std::vector<double> table_;  // by stage, first layer and the one after the last
  Counts from_;                // by stage and the layers dealt out after it: before it
};

void check_filled(const config::Model& model, const config::Partition& partition,
                  std::uint32_t devices, const Counts& counts) {
  const auto stages = static_cast<std::uint32_t>(counts.size());
  for (std::uint32_t stage = 1; stage + 1 < stages; ++stage)
    if (counts[stage] == 0)
      throw refuse(model, partition,
                   fmt::format("stage {} would have no layer: {} layers on {}; only the first and "
                               "the last stage may have none; at most {} stages, or at least {} "
                               "layers",
                               stage, model.layers, stages_text(devices, stages), model.layers + 2,
                               stages - 2));
}

}  // namespace

std::vector<LayerRange> partition_layers(const config::Model& model,
                                         const config::Partition& partition, std::uint32_t devices,
                                         std::uint32_t stages, const StageSeconds& seconds) {
  Counts counts;
  switch (partition.rule) {
    case config::Partition::Rule::even:
      counts = even(model.layers, stages);
      break;
    case config::Partition::Rule::ends_less:
      counts = ends_less(model, partition, devices, stages);
      break;
    case config::Partition::Rule::by_cost:
      if (model.layers + 2 < stages)
        check_filled(model, partition, devices, even(model.layers, stages));
      counts = ByCost(model.layers, stages, seconds).solve();
      break;
    case config::Partition::Rule::listed:
      counts = listed(model, partition, devices, stages);
      break;
  }
  check_filled(model, partition, devices, counts);
  std::vector<LayerRange> ranges;
  std::uint32_t first = 0;
  for (const std::uint32_t count : counts) {
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

}  // namespace pipewright::workload
