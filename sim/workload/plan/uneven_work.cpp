#include "sim/workload/plan/uneven_work.hpp"

#include <algorithm>
#include <utility>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/batch/expert_loads.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::workload {
namespace {

// Returns the attention of each kind of layer that has attention, with the number of such layers.
std::vector<std::pair<double, Attention>> attention_layers(const config::Model& model) {
  std::vector<std::pair<double, Attention>> layers;
  for (const LayerKind kind : kinds_of(model)) {
    const Layer layer = layer_on_gpu(model, kind, uncut_sizes(model, 1, model.sequence));
    if (layer.has_attention()) layers.emplace_back(layers_of(model, kind), layer.attention);
  }
  return layers;
}

// Returns the ratio of each microbatch's work to that of the mean microbatch; empty if all are
// equal.
std::vector<Uneven::Work> microbatch_work(const config::Model& model,
                                          const config::Training& training) {
  const auto batch = batch_of(training, sequence_of(model, training));
  const AttentionPairs pairs = pairs_of(training);
  const auto layers = attention_layers(model);
  std::vector<Uneven::Work> work_ratios;
  double attention_sum = 0;
  for (const Microbatch& microbatch : batch->all_microbatches) {
    Uneven::Work& work = work_ratios.emplace_back();
    work.tokens = microbatch.computed.tokens / batch->computed.tokens;
    work.attention = 0;
    for (const std::uint32_t document : microbatch.documents)
      for (const auto& [count, attention] : layers)
        work.attention += count * attention_pairs(attention, document, pairs);
    attention_sum += work.attention;
  }
  const double mean = attention_sum / static_cast<double>(work_ratios.size());
  bool differ = false;
  for (Uneven::Work& work : work_ratios) {
    work.attention = mean > 0 ? work.attention / mean : 1;
    differ = differ || work.tokens != work_ratios.front().tokens ||
             work.attention != work_ratios.front().attention;
  }
  return differ ? work_ratios : std::vector<Uneven::Work>{};
}

// Returns the load of the busiest experts, by stage and microbatch, averaged over the layers of the
// stage and relative to the mean of many draws.
std::vector<double> expert_load_ratios(const config::Scenario& scenario, const StageCosts& costs,
                                       std::uint32_t microbatches) {
  const config::Model& model = scenario.model->value;
  const auto law =
      routing_law(model, scenario.training, sizes_of(model, scenario.training, scenario.parallel));
  if (!law) return {};
  const double mean = imbalance_of(*law).mean;
  const ExpertLoads loads = expert_loads(*law, scenario.variation.seed);
  std::vector<double> ratios;
  for (const std::vector<std::uint32_t>& layers : costs.expert_layers)
    for (std::uint32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
      double sum = 0;
      for (const std::uint32_t layer : layers) sum += loads.at(layer, microbatch);
      ratios.push_back(layers.empty() ? 1 : sum / (mean * static_cast<double>(layers.size())));
    }
  return ratios;
}

}  // namespace

std::shared_ptr<const Uneven> uneven_work(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule,
                                          const StageCosts& costs) {
  if (!scenario.model || costs.activations.empty()) return nullptr;
  Uneven uneven{.microbatches = schedule.microbatches * schedule.iterations,
                .slices = schedule.slices,
                .work_ratios = {},
                .experts = {}};
  if (scenario.training.lengths) {
    uneven.microbatches =
        scenario.training.lengths->microbatches * scenario.training.lengths->iterations;
    uneven.work_ratios = microbatch_work(scenario.model->value, scenario.training);
    uneven.tokens_differ = std::ranges::any_of(
        uneven.work_ratios, [](const Uneven::Work& work) { return work.tokens != 1; });
  }
  uneven.experts = expert_load_ratios(scenario, costs, uneven.microbatches);
  if (uneven.work_ratios.empty() && uneven.experts.empty()) return nullptr;
  return std::make_shared<const Uneven>(std::move(uneven));
}

}  // namespace pipewright::workload
