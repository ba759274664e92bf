#include "sim/workload/shape/shape.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/enum_names.hpp"
#include "sim/workload/batch/batch.hpp"

namespace pipewright::workload {
namespace {

using config::Model;

// Names of a model's parts, in the order of the enum Part.
constexpr std::array<std::string_view, part_count> part_names{"embedding",
                                                              "streams",
                                                              "attention norm",
                                                              "qkv",
                                                              "mla down",
                                                              "mla up",
                                                              "compressor",
                                                              "indexer",
                                                              "qk norm",
                                                              "rotary",
                                                              "index scores",
                                                              "core attention",
                                                              "projection",
                                                              "recurrence in",
                                                              "convolution",
                                                              "recurrence",
                                                              "recurrence norm",
                                                              "recurrence out",
                                                              "post norm",
                                                              "residual",
                                                              "mlp norm",
                                                              "mlp in",
                                                              "activation",
                                                              "mlp out",
                                                              "latent in",
                                                              "router",
                                                              "permute",
                                                              "expert in",
                                                              "expert activation",
                                                              "expert out",
                                                              "unpermute",
                                                              "latent out",
                                                              "shared in",
                                                              "shared activation",
                                                              "shared out",
                                                              "mtp norm",
                                                              "mtp projection",
                                                              "head norm",
                                                              "head",
                                                              "loss",
                                                              "patch embedding",
                                                              "projector norm",
                                                              "projector in",
                                                              "projector activation",
                                                              "projector out",
                                                              "image tokens"};

}  // namespace

Sizes uncut_sizes(const Model& model, double samples, double sequence) {
  return {.samples = samples,
          .sequence = sequence,
          .document = sequence,
          .queries = sequence,
          .tokens = samples * sequence,
          .spread_tokens = samples * sequence,
          .vocabulary = model.vocabulary};
}

Part attention_norm_part(Mixer mixer) {
  switch (mixer) {
    case Mixer::latent:
    case Mixer::indexed:
    case Mixer::window:
    case Mixer::compressed:
    case Mixer::heavily_compressed:
    case Mixer::parallel:
      return Part::attention_norm;
    case Mixer::mamba:
    case Mixer::linear:
    case Mixer::convolution:
      return Part::recurrence_in;
    default:
      return Part::qkv;
  }
}

Part mlp_norm_part(LayerKind kind) { return has_experts(kind) ? Part::mlp_norm : Part::mlp_in; }

std::string_view name_of(Part part) { return base::name_of(part_names, part); }

std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple,
                                std::uint32_t tp) {
  const std::uint64_t step = std::uint64_t{multiple} * tp;
  return (vocabulary + step - 1) / step * step;
}

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel, const config::Communication& communication) {
  Sizes sizes;
  sizes.tp = parallel.tp.value;
  sizes.cp = parallel.cp.value;
  sizes.cp_comm = parallel.cp_comm;
  sizes.cp_a2a = parallel.cp_a2a();
  sizes.cp_balance = parallel.cp_balance;
  sizes.ep = parallel.ep.value;
  sizes.etp = model.experts ? parallel.expert_tp() : 1;
  sizes.sequence_parallel = parallel.sequence && sizes.tp > 1;
  if (sizes.sequence_parallel && training.tensor_format == config::TensorFormat::bshd) {
    sizes.gathered_copy = communication.tp_comm_overlap ? 0 : 4;
    sizes.summed_copy = communication.tp_comm_overlap ? 2 + 2.0 / sizes.tp : 4;
    sizes.summed_gradient_copy = 4;
  }
  sizes.samples = training.microbatch_size;
  sizes.sequence = sizes.document = sequence_of(model, training);
  if (training.lengths) {
    const auto batch = batch_of(training, sequence_of(model, training));
    sizes.samples = batch->computed.tokens / sizes.sequence;
    sizes.document = batch->computed.document();
    if (training.lengths->packed) sizes.documents = batch->documents;
  }
  sizes.queries = sizes.sequence / sizes.cp;
  sizes.tokens = sizes.samples * sizes.queries;
  sizes.spread_tokens = sizes.sequence_parallel ? sizes.tokens / sizes.tp : sizes.tokens;
  sizes.cuts_vocabulary = parallel.cuts_vocabulary();
  sizes.interlaces_vocabulary =
      sizes.cuts_vocabulary && parallel.vocabulary == config::VocabularyCut::interlaced;
  sizes.barriers = parallel.barriers();
  const std::uint32_t parts = sizes.cuts_vocabulary ? parallel.pp.value : 1;
  sizes.vocabulary =
      padded_vocabulary(model.vocabulary, training.vocabulary_multiple, sizes.tp * parts) / parts;
  const bool pads = model.experts && model.experts->capacity_factor;
  if (sizes.ep > 1 && !pads) {
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    sizes.imbalance = std::min({training.experts.imbalance, static_cast<double>(sizes.ep),
                                training.experts.drop_above.value_or(unlimited)});
    sizes.peak_imbalance = sizes.imbalance;
  }
  if (const auto law = routing_law(model, training, sizes)) {
    const Imbalance drawn = imbalance_of(*law);
    sizes.imbalance = drawn.mean;
    sizes.peak_imbalance = drawn.p95;
  }
  return sizes;
}

std::uint32_t sequence_of(const Model& model, const config::Training& training) {
  return training.sequence.value_or(model.sequence);
}

namespace {

// Returns the share of a training's tokens that pad samples.
double padded_share(const Model& model, const config::Training& training) {
  if (!training.lengths) return 0;
  const auto batch = batch_of(training, sequence_of(model, training));
  return std::max(0.0, 1 - batch->real.tokens / batch->computed.tokens);
}

}  // namespace

std::optional<RoutingLaw> routing_law(const Model& model, const config::Training& training,
                                      const Sizes& sizes) {
  const config::ExpertTraining& experts = training.experts;
  if (!experts.draws_loads() || !model.experts || sizes.ep == 1 || model.experts->capacity_factor)
    return std::nullopt;
  RoutingLaw law{.alpha = experts.power_law,
                 .experts = model.experts->count,
                 .top_k = model.experts->top_k,
                 .ranks = sizes.ep,
                 .capacity = experts.drop_above,
                 .padding = padded_share(model, training)};
  if (law.alpha)
    law.tokens = static_cast<std::uint64_t>(sizes.spread_tokens * sizes.etp * sizes.ep);
  return law;
}

}  // namespace pipewright::workload
