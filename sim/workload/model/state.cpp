#include "sim/workload/model/state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

// Returns the parameters of each part of a stage that runs at a time: embedding, each layer, head.
// A head that is tied to the embedding counts the embedding's matrix, wherever that is stored.
std::vector<Parameters> part_parameters(const ModelSetting& setting, const StageParts& stage) {
  const config::Model& model = setting.model;
  const std::uint64_t embedding = embedding_parameters(model, setting.sizes);
  const std::uint64_t sides = setting.model.hidden + embedding / setting.model.hidden;
  std::vector<Parameters> parts;
  const auto add = [&](config::WeightGroup group, Parameters part) {
    if (setting.training.freezes(group)) part.freeze();
    parts.push_back(part);
  };
  if (stage.encoder)
    if (const auto encoder = encoder_of(setting)) parts = encoder_parameters(*encoder);
  if (stage.embedding)
    add(config::WeightGroup::embedding,
        {.dense = embedding + (setting.sizes.cuts_vocabulary && !stage.is_first()
                                   ? 0
                                   : position_parameters(model, setting.sizes)),
         .vocabulary = embedding,
         .sides = sides});
  const LayerValues<Parameters> layers(setting,
                                       [](const ModelSetting& layer_setting, LayerKind kind) {
                                         return layer_parameters(layer_setting, kind);
                                       });
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    parts.push_back(layers.of(stage.layers.first + index));
  for (std::uint32_t set = 0; set < mtp_weight_sets(model, stage.mtp); ++set)
    parts.push_back(mtp_parameters(setting));
  const bool head_has_embedding = stage.head && model.tied_embeddings;
  if (stage.embedding_copy && !head_has_embedding)
    add(config::WeightGroup::embedding,
        {.dense = embedding, .vocabulary = embedding, .sides = sides});
  if (stage.head) {
    add(model.tied_embeddings ? config::WeightGroup::embedding : config::WeightGroup::head,
        {.dense = head_parameters(model, setting.sizes) + (model.tied_embeddings ? embedding : 0),
         .vocabulary = embedding,
         .sides = sides});
    add_other_type(setting, Part::head, static_cast<double>(embedding), parts.back());
  }
  return parts;
}

// True if weights of a scaled data type are cast each time that they are gathered, so that no
// copies stay in memory.
bool casts_gathered(const config::Training& training, const ZeroGroups& zero) {
  return zero.level >= 3 && !training.fp8_param_gather;
}

// Bytes per weight of the shards.
double shard_bytes(const config::Training& training, const ZeroGroups& zero) {
  if (casts_gathered(training, zero) && config::keeps_casts(training.precision))
    return training.bytes.weights.value_or(2);
  return weight_bytes(training);
}

// Bytes by which the optimizer's state of weight matrices differs from that of other parameters.
// Adafactor, unlike Muon, treats embeddings and output layers as matrices, too.
double matrix_state(const Parameters& parameters, const config::Training& training,
                    const ZeroGroups& zero) {
  const bool is_factored = training.optimizer.name == config::Optimizer::Name::adafactor;
  const double difference =
      config::matrix_optimizer_bytes(training) - config::optimizer_bytes(training);
  const auto bytes = [&](std::uint64_t elements, std::uint64_t sides, double ranks) {
    constexpr double sum = 4;  // bytes of the sum of a row or a column
    const double all = difference * static_cast<double>(elements) +
                       (is_factored ? sum * static_cast<double>(sides) : 0);
    return all / (zero.level >= 1 ? ranks : 1);
  };
  return bytes(parameters.matrices + (is_factored ? parameters.vocabulary : 0), parameters.sides,
               zero.dense * zero.copies) +
         bytes(parameters.expert_matrices, parameters.expert_sides,
               zero.experts * zero.expert_copies);
}

// Returns the gathered matrices of generalized tensor parallelism, which leaves experts whole
// unless they have shards of their own.
GatherWindow matrix_window(const ModelSetting& setting, const StageParts& stage,
                           const ZeroGroups& zero) {
  const std::uint64_t vocabulary = embedding_parameters(setting.model, setting.sizes);
  std::vector<std::uint64_t> matrices;  // elements
  std::uint64_t experts = 0;            // of the layer with the most
  const auto add = [&](std::uint64_t elements) {
    if (zero.dense > 1) matrices.push_back(elements);
  };
  if (stage.embedding || stage.embedding_copy) add(vocabulary);
  const auto add_layer = [&](LayerKind kind) {
    std::uint64_t of_layer = 0;
    for (const Linear& linear : linears_of(layer_on_gpu(setting.model, kind, setting.sizes))) {
      const std::uint64_t elements = linear.count * linear.inputs * linear.outputs;
      if (is_expert_part(linear.part))
        of_layer += elements;
      else
        add(elements);
    }
    experts = std::max(experts, of_layer);
  };
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    add_layer(kind_of_layer(setting.model, stage.layers.first + index));
  for (std::uint32_t set = 0; set < mtp_weight_sets(setting.model, stage.mtp); ++set)
    add_layer(kind_of_mtp(setting.model));
  if (stage.head) add(vocabulary);
  std::uint64_t previous = 0;
  std::uint64_t pair = 0;
  for (const std::uint64_t elements : matrices) {
    pair = std::max(pair, previous + elements);
    previous = elements;
  }
  const std::uint64_t of_experts = zero.experts > 1 ? 2 * experts : 0;
  return {.bytes = static_cast<std::uint64_t>(std::llround(
              static_cast<double>(pair + of_experts) * config::gathered_bytes(setting.training))),
          .matrices = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(matrices.size()))};
}

}  // namespace

Parameters stage_parameters(const ModelSetting& setting, const StageParts& stage) {
  Parameters sum;
  for (const Parameters& part : part_parameters(setting, stage)) sum += part;
  if (stage.head && setting.model.tied_embeddings && !stage.embedding_copy) {
    const std::uint64_t embedding = embedding_parameters(setting.model, setting.sizes);
    Parameters twice{.dense = embedding,
                     .vocabulary = embedding,
                     .sides = setting.model.hidden + embedding / setting.model.hidden};
    if (setting.training.freezes(config::WeightGroup::embedding)) twice.freeze();
    sum -= twice;
  }
  return sum;
}

Parameters whole_parameters(const config::Model& model, const config::Training& training) {
  const ModelSetting whole{model, training, uncut_sizes(model, 1, sequence_of(model, training))};
  StageParts parts{.layers = {0, model.layers}, .embedding = true, .encoder = true, .head = true};
  parts.mtp = model.mtp_layers;
  return stage_parameters(whole, parts);
}

std::uint64_t weight_tensors(const ModelSetting& setting, const StageParts& stage) {
  const config::Model& model = setting.model;
  const auto encoder = stage.encoder ? encoder_of(setting) : std::nullopt;
  const std::uint64_t of_encoder = encoder ? encoder_tensors(*encoder) : 0;
  if (!setting.training.trains_all()) {
    std::uint64_t tensors = of_encoder;
    for (std::uint32_t index = 0; index < stage.layers.count; ++index)
      tensors += trained_tensors(setting, kind_of_layer(model, stage.layers.first + index));
    for (std::uint32_t set = 0; set < mtp_weight_sets(model, stage.mtp); ++set)
      tensors += trained_tensors(setting, kind_of_mtp(model));
    const bool embeds = !setting.training.freezes(config::WeightGroup::embedding);
    return tensors + (embeds && (stage.embedding || stage.embedding_copy) ? 1 : 0) +
           (stage.head && !has_frozen_head(setting) ? 1 : 0);
  }
  constexpr std::array<std::uint64_t, 4> biases{0, 4, 1, 2};  // in the order of Model::Biases
  const std::uint64_t of_layer = 6 + biases[static_cast<std::size_t>(model.biases)];
  const std::uint64_t embeddings = (stage.embedding ? 1 : 0) + (stage.embedding_copy ? 1 : 0);
  const std::uint64_t head = !stage.head ? 0 : model.tied_embeddings ? 1 : 2;
  return of_layer * (stage.layers.count + mtp_weight_sets(model, stage.mtp)) + embeddings + head +
         of_encoder;
}

ZeroGroups zero_groups(const config::Parallel& parallel, std::uint32_t device) {
  const double copies = parallel.replicates();
  const double ranks = static_cast<double>(parallel.dp.value) * parallel.cp.value;
  const double tp = parallel.tp_of(device);
  const double expert_ranks = (parallel.etp ? parallel.etp->value : tp) * parallel.ep.value;
  const double experts = tp * ranks / expert_ranks;
  ZeroGroups zero{.level = parallel.zero,
                  .dense = ranks / copies,
                  .experts = parallel.expert_gtp ? parallel.expert_gtp->value : experts / copies,
                  .keeps_weights = parallel.keeps_weights()};
  if (parallel.shards_optimizer_over_copies()) {
    zero.copies = copies;
    zero.expert_copies = experts / zero.experts;
  }
  return zero;
}

std::vector<schedules::UnshardWindow> unshard_windows(const config::Parallel& parallel,
                                                      const schedules::Routes& routes) {
  if (!parallel.keeps_weights()) return {};
  const std::uint32_t stages = schedules::most_stages(routes);
  const std::uint32_t resident = parallel.max_unsharded_stages.value_or(stages);
  const config::UnshardLookahead& lookahead =
      parallel.unshard_lookahead.value_or(config::UnshardLookahead{});
  std::vector<schedules::UnshardWindow> windows;
  for (std::uint32_t device = 0; device < parallel.pp.value; ++device)
    windows.emplace_back(resident, !lookahead.by_device.empty() ? lookahead.by_device[device].value
                                   : lookahead.rule == config::UnshardRule::by_rank
                                       ? schedules::automatic_lookahead(device, resident)
                                       : resident);
  const bool all_stages_stay = std::ranges::all_of(windows, [&](const auto& window) {
    return std::min(window.resident, window.lookahead) >= stages;
  });
  if (all_stages_stay) windows.clear();
  return windows;
}

DeviceState state_of(const Parameters& parameters, const config::Training& training,
                     const ZeroGroups& zero) {
  const Parameters trained = parameters.trained();
  const auto held_of = [&](double dense, double experts, std::uint32_t from_level) {
    return zero.level >= from_level ? dense / zero.dense + experts / zero.experts : dense + experts;
  };
  // Bytes of what all parameters have, or those that are trained.
  const auto sharded = [&](const Parameters& held, double bytes_per_parameter,
                           std::uint32_t from_level) {
    return bytes_per_parameter *
           held_of(static_cast<double>(held.dense), static_cast<double>(held.experts), from_level);
  };
  const auto whole = [](double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); };
  const double weight = shard_bytes(training, zero);
  const double unscaled_extra =
      static_cast<double>(parameters.vocabulary) *
      (training.bytes.weights.value_or(value_bytes(training.precision)) - weight);
  DeviceState state;
  // Bytes on the host: those of the optimizer state and, if the offload includes them, of gradients
  // and of sharded weights.
  const auto& offload = training.optimizer.offload;
  const double on_gpu = training.optimizer.fraction_on_gpu();
  state.optimizer =
      whole(on_gpu * (config::optimizer_bytes(training) * updated_parameters(parameters, zero) +
                      matrix_state(trained, training, zero)));
  constexpr std::uint32_t no_level = 4;
  const bool is_reduced = zero.dense > 1 || zero.experts > 1;
  // Whole gradients stay on the GPU until they are complete.
  const double gradients_on_gpu = offload && offload->gradients && !zero.keeps_weights ? on_gpu : 1;
  state.gradients = whole(sharded(trained,
                                  gradients_on_gpu * config::gradient_bytes(training) +
                                      (is_reduced ? training.bytes.gradient_buckets : 0),
                                  zero.keeps_weights ? no_level : 2));
  const bool holds_whole_weights = zero.keeps_weights && !zero.reshards_stages;
  const double whole_weights = holds_whole_weights ? gathered_bytes(parameters, training) : 0;
  const double weights_on_gpu = offload && offload->weights ? on_gpu : 1;
  // Bytes by which frozen matrices of layers are smaller than other weights.
  const double saved_by_base =
      !config::has_own_base(training)
          ? 0
          : (weight - config::base_bytes(training.lora->base, training.precision)) *
                held_of(static_cast<double>(parameters.frozen_dense - parameters.frozen_vocabulary),
                        static_cast<double>(parameters.frozen_experts), 3);
  const double of_other_types =
      casts_gathered(training, zero)
          ? 0
          : held_of(parameters.other_types.stored, parameters.expert_other_types.stored, 3);
  const double sharded_weights = sharded(parameters, weight, 3) - saved_by_base + of_other_types +
                                 (zero.level >= 3 ? unscaled_extra / zero.dense : unscaled_extra);
  state.weights = whole(weights_on_gpu * sharded_weights + whole_weights);
  return state;
}

double updated_parameters(const Parameters& parameters, const ZeroGroups& zero) {
  const bool is_sharded = zero.level >= 1;
  const Parameters trained = parameters.trained();
  return static_cast<double>(trained.dense) / (is_sharded ? zero.dense * zero.copies : 1) +
         static_cast<double>(trained.experts) /
             (is_sharded ? zero.experts * zero.expert_copies : 1);
}

double updated_other_bytes(const Parameters& parameters, const ZeroGroups& zero) {
  const bool is_sharded = zero.level >= 1;
  return parameters.other_types.updated / (is_sharded ? zero.dense : 1) +
         parameters.expert_other_types.updated / (is_sharded ? zero.experts : 1);
}

double gathered_bytes(const Parameters& parameters, const config::Training& training) {
  const double gathered = config::gathered_bytes(training);
  const double frozen = config::has_own_base(training)
                            ? config::base_bytes(training.lora->base, training.precision)
                            : gathered;
  const std::uint64_t matrices = parameters.frozen() - parameters.frozen_vocabulary;
  return gathered * static_cast<double>(parameters.total() - matrices) +
         frozen * static_cast<double>(matrices) + parameters.other_types.gathered +
         parameters.expert_other_types.gathered;
}

std::uint64_t buffer_bytes(const ModelSetting& setting, std::uint32_t devices,
                           std::uint32_t slices) {
  const double value = config::value_bytes(setting.training.precision);
  double bytes = score_buffer_bytes(setting) + context_buffer_bytes(setting);
  if (devices > 1)
    bytes += 2 * value * setting.sizes.spread_tokens *
             static_cast<double>(setting.model.residual_width());
  if (setting.sizes.sequence_parallel) bytes += value * setting.sizes.tokens * setting.model.hidden;
  double dequantized = 0;
  for (const LayerKind kind : kinds_of(setting.model))
    dequantized = std::max(dequantized, dequantized_bytes(setting, kind));
  return static_cast<std::uint64_t>(std::llround(bytes / slices + dequantized));
}

GatherWindow gather_window(const ModelSetting& setting, const StageParts& stage,
                           const config::Parallel& parallel, const ZeroGroups& zero) {
  // A single rank gathers nothing.
  if (zero.level < 3 || zero.keeps_weights || (zero.dense <= 1 && zero.experts <= 1)) return {};
  if (parallel.gtp) return matrix_window(setting, stage, zero);
  const std::vector<Parameters> parts = part_parameters(setting, stage);
  const std::uint64_t elements_ahead = parallel.gather_ahead.value_or(1);
  GatherWindow window;
  double largest = 0;
  for (std::size_t first = 0; first < parts.size(); ++first) {
    double bytes = gathered_bytes(parts[first], setting.training);
    std::uint64_t elements = 0;
    std::size_t next = first + 1;
    for (; next < parts.size() && elements < elements_ahead; ++next) {
      bytes += gathered_bytes(parts[next], setting.training);
      elements += parts[next].total();
    }
    largest = std::max(largest, bytes);
    window.ahead = std::max(window.ahead, static_cast<std::uint32_t>(next - first - 1));
  }
  window.bytes = static_cast<std::uint64_t>(std::llround(largest));
  return window;
}

std::uint64_t delayed_bytes(const ModelSetting& setting, std::uint32_t layers) {
  if (!setting.training.stack.memory.delayed_frees || !setting.sizes.sequence_parallel) return 0;
  constexpr double products = 2;
  return static_cast<std::uint64_t>(
      std::llround(layers * products * 2 * setting.sizes.tokens * setting.model.hidden));
}

std::uint64_t unused_gradient_bytes(const ModelSetting& setting, const StageParts& stage) {
  if (!setting.training.stack.memory.unused_gradients || !setting.training.fused_accumulation)
    return 0;
  std::set<LayerKind> kinds;
  const LayerRange& layers = stage.layers;
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
    kinds.insert(kind_of_layer(setting.model, layer));
  std::set<std::pair<std::uint64_t, std::uint64_t>> shapes;
  for (const LayerKind kind : kinds)
    for (const Linear& linear : linears_of(layer_on_gpu(setting.model, kind, setting.sizes)))
      if (!is_frozen(setting.training, linear.part)) shapes.emplace(linear.inputs, linear.outputs);
  if (stage.head && !has_frozen_head(setting))
    shapes.emplace(setting.model.hidden, setting.sizes.vocabulary / setting.sizes.tp);
  if (const auto encoder = stage.encoder ? encoder_of(setting) : std::nullopt)
    for (const Matrix& matrix : encoder_matrices(*encoder))
      shapes.emplace(matrix.columns, matrix.rows);
  std::uint64_t elements = 0;
  for (const auto& [inputs, outputs] : shapes) elements += inputs * outputs;
  return 2 * elements;
}

std::uint64_t cast_bytes(const ModelSetting& setting, const StageParts& stage,
                         const ZeroGroups& zero) {
  if (!casts_gathered(setting.training, zero) || zero.keeps_weights) return 0;
  const double copies = config::copy_bytes(setting.training.precision);
  double largest = 0;
  for (const Parameters& part : part_parameters(setting, stage)) {
    const std::uint64_t scaled = part.total() - std::min(part.total(), part.vocabulary);
    largest = std::max(largest, copies * static_cast<double>(scaled) + part.other_types.casts +
                                    part.expert_other_types.casts);
  }
  return static_cast<std::uint64_t>(std::llround(largest));
}

std::uint32_t gradient_parts(std::uint64_t dense_parameters,
                             const config::Communication& communication, std::uint32_t copies) {
  const std::uint64_t bytes = dense_parameters * communication.gradient_bytes;
  const std::uint64_t bucket = config::bucket_bytes(communication, copies);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + bucket - 1) / bucket));
}

std::uint64_t unsharded_gradient_bytes(const Parameters& stage,
                                       const config::Communication& communication,
                                       const ZeroGroups& zero) {
  if (zero.level < 2 || zero.keeps_weights) return 0;
  // Only gradients that are reduced over several ranks need memory before that; others are summed
  // in place.
  const Parameters trained = stage.trained();
  const std::uint64_t reduced =
      (zero.dense > 1 ? trained.dense : 0) + (zero.experts > 1 ? trained.experts : 0);
  const std::uint64_t whole = reduced * communication.gradient_bytes;
  if (!communication.overlap_grad_reduce) return whole;
  const std::uint32_t parts =
      gradient_parts(trained.dense, communication, static_cast<std::uint32_t>(zero.dense));
  return parts < 2 ? whole : 2 * (whole / parts);
}

}  // namespace pipewright::workload
