#include "sim/workload/plan/uneven_work.hpp"

#include <algorithm>
#include <utility>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/batch/expert_loads.hpp"
#include "sim/workload/compute/encoder_work.hpp"
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

// Work of a rank: tokens, pairs of a query and a key, and tokens whose keys and values it receives.
struct RankWork {
  double tokens = 0;
  double pairs = 0;
  double exchange = 0;

  RankWork& operator+=(const RankWork& rhs) {
    tokens += rhs.tokens;
    pairs += rhs.pairs;
    exchange += rhs.exchange;
    return *this;
  }
};

// Computes the work of microbatches for a model.
class WorkOfMicrobatches {
 public:
  WorkOfMicrobatches(const config::Model& model, const config::Training& training)
      : pairs_(pairs_of(training)), layers_(attention_layers(model)) {}

  double pairs(double document) const {
    double sum = 0;
    for (const auto& [count, attention] : layers_)
      sum += count * attention_pairs(attention, document, pairs_);
    return sum;
  }

  RankWork of(const Microbatch& microbatch) const {
    RankWork work{.tokens = microbatch.computed.tokens, .exchange = microbatch.computed.tokens};
    for (const std::uint32_t document : microbatch.documents) work.pairs += pairs(document);
    return work;
  }

  RankWork of(const std::vector<SharedDocument>& documents) const {
    RankWork work;
    for (const SharedDocument& document : documents) {
      const double tokens = static_cast<double>(document.tokens) / document.ranks;
      work += {.tokens = tokens,
               .pairs = pairs(document.tokens) / document.ranks,
               .exchange = tokens * (document.ranks - 1)};
    }
    return work;
  }

 private:
  AttentionPairs pairs_;
  std::vector<std::pair<double, Attention>> layers_;
};

// Returns the work of each microbatch of a replica whose ranks share documents: that of the slowest
// rank in each group of documents, for which all ranks wait. A rank stores one document at a time.
// `attention_share` is the share of attention in the time of a mean microbatch, `cp` the ranks of a
// replica, and `microbatches` those of an iteration, each of which has an equal part of all groups.
std::vector<Uneven::Work> shared_work(const Batch& batch, const WorkOfMicrobatches& work_of,
                                      double attention_share, std::uint32_t cp,
                                      std::uint32_t microbatches) {
  // The microbatches of an iteration have the same groups.
  RankWork mean{.tokens = batch.computed.tokens / cp,
                .exchange = batch.computed.tokens * (cp - 1) / cp};
  double pairs = 0;
  std::size_t ranks = 1;
  for (std::uint32_t first = 0; first < batch.microbatches; first += microbatches)
    for (const SharedDocuments& group : *batch.at(0, first).groups) {
      ranks = group.size();
      for (const std::vector<SharedDocument>& documents : group)
        pairs += work_of.of(documents).pairs;
    }
  mean.pairs = pairs / static_cast<double>(ranks * batch.microbatches);
  const auto seconds = [&](const RankWork& work) {
    return (1 - attention_share) * work.tokens / mean.tokens +
           (mean.pairs > 0 ? attention_share * work.pairs / mean.pairs : 0);
  };
  std::vector<Uneven::Work> works;
  const double parts = microbatches;
  for (std::uint32_t first = 0; first < batch.microbatches; first += microbatches) {
    RankWork sum;
    double stored = 0;
    for (const SharedDocuments& group : *batch.at(0, first).groups) {
      RankWork slowest;
      for (const std::vector<SharedDocument>& documents : group) {
        if (const RankWork work = work_of.of(documents); seconds(work) > seconds(slowest))
          slowest = work;
        for (const SharedDocument& document : documents)
          stored = std::max(stored, static_cast<double>(document.tokens) / document.ranks);
      }
      sum += slowest;
    }
    works.insert(works.end(), microbatches,
                 {.tokens = sum.tokens / parts / mean.tokens,
                  .attention = mean.pairs > 0 ? sum.pairs / parts / mean.pairs : 1,
                  .exchange = sum.exchange / parts / mean.exchange,
                  .stored = stored / mean.tokens});
  }
  std::vector<Uneven::Work> of_replicas;
  for (std::uint32_t replica = 0; replica < batch.replicas; ++replica)
    of_replicas.insert(of_replicas.end(), works.begin(), works.end());
  return of_replicas;
}

// Returns the ratio of each microbatch's work to that of the mean microbatch; empty if all are
// equal.
std::vector<Uneven::Work> microbatch_work(const config::Model& model,
                                          const config::Training& training,
                                          const StageCosts& costs) {
  const auto batch = batch_of(training, sequence_of(model, training));
  const WorkOfMicrobatches work_of(model, training);
  if (training.lengths->balance == config::Lengths::Balance::context_parallel)
    return shared_work(
        *batch, work_of,
        StageCosts::of(costs.attention_share, {.kind = schedules::PassKind::backward}),
        training.lengths->cp, training.lengths->microbatches);
  std::vector<RankWork> works;
  RankWork sum;
  for (const Microbatch& microbatch : batch->all_microbatches)
    sum += works.emplace_back(work_of.of(microbatch));
  const double mean_pairs = sum.pairs / static_cast<double>(works.size());
  std::vector<Uneven::Work> ratios;
  bool differ = false;
  for (const RankWork& work : works) {
    const double tokens = work.tokens / batch->computed.tokens;
    ratios.push_back({.tokens = tokens,
                      .attention = mean_pairs > 0 ? work.pairs / mean_pairs : 1,
                      .exchange = tokens,
                      .stored = tokens});
    differ = differ || ratios.back().tokens != ratios.front().tokens ||
             ratios.back().attention != ratios.front().attention;
  }
  return differ ? ratios : std::vector<Uneven::Work>{};
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

// Sets the ratio of each microbatch's work in the encoder of images to that of the mean microbatch.
void add_image_work(const config::Scenario& scenario, Uneven& uneven) {
  const config::Training& training = scenario.training;
  const auto encoder = encoder_of({scenario.model->value, training,
                                   uncut_sizes(scenario.model->value, training.microbatch_size,
                                               sequence_of(scenario.model->value, training))});
  const auto images = images_of(*training.vision, training.microbatch_size);
  const double mean = encoder_flops(*encoder).forward;
  if (uneven.work_ratios.empty()) uneven.work_ratios.resize(images->all_microbatches.size());
  for (std::size_t i = 0; i < uneven.work_ratios.size(); ++i) {
    const TokenCounts& patches = images->all_microbatches[i].real;
    uneven.work_ratios[i].encoder =
        encoder_forward_flops(*encoder, {.count = patches.tokens, .image = patches.document()}) /
        mean;
  }
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
    uneven.work_ratios = microbatch_work(scenario.model->value, scenario.training, costs);
    uneven.tokens_differ = std::ranges::any_of(
        uneven.work_ratios, [](const Uneven::Work& work) { return work.tokens != 1; });
  }
  if (has_uneven_images(scenario.training)) {
    const config::Lengths& patches = scenario.training.vision->patches;
    uneven.microbatches = patches.microbatches * patches.iterations;
    add_image_work(scenario, uneven);
  }
  uneven.experts = expert_load_ratios(scenario, costs, uneven.microbatches);
  if (uneven.work_ratios.empty() && uneven.experts.empty()) return nullptr;
  return std::make_shared<const Uneven>(std::move(uneven));
}

}  // namespace pipewright::workload
