#include "sim/workload/model/calls.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;

// List of the collective calls of one pass. Equal calls are merged into one with a count. The
// argument `overlappable_compute` is the time of compute beside which a single call can run.
class CallList {
 public:
  void add(Group group, const Operation& collective, double bytes, std::uint32_t times = 1,
           double overlappable_compute = 0) {
    if (bytes <= 0 || times == 0) return;
    add({group, collective, static_cast<std::uint64_t>(std::llround(bytes)), times,
         overlappable_compute});
  }
  void add(const CallList& addition) {
    for (const Call& call : addition.list_) add(call);
  }
  void add(const Call& call) {
    const auto match = std::ranges::find_if(list_, [&](const Call& entry) {
      return call.group == entry.group && call.collective == entry.collective &&
             call.bytes == entry.bytes && call.combines == entry.combines &&
             call.overlappable_compute == entry.overlappable_compute;
    });
    if (match == list_.end())
      list_.push_back(call);
    else
      match->times += call.times;
  }
  std::vector<Call> list() const {
    std::vector<Call> calls = list_;
    for (Call& call : calls) call.overlappable_compute *= call.times;
    return calls;
  }

 private:
  std::vector<Call> list_;
};

struct PassCalls {
  CallList forward;
  CallList input_grad;
  CallList weight_grad;
  CallList backward;    // I and W as one pass, where calls of I can run beside products of W
  CallList recomputed;  // calls of the forward pass that a recomputed layer repeats before I

  void add_to_forward(const ModelSetting& setting, Part part, Group group, Collective collective,
                      double bytes, std::uint32_t times = 1, double overlappable_compute = 0) {
    forward.add(group, collective, bytes, times, overlappable_compute);
    // A recomputed part repeats its collectives, except with torchtitan's `op`, which keeps their
    // results.
    if (share_repeated(setting, part, Kernel::Work::product) == 1)
      recomputed.add(group, collective, bytes, times, overlappable_compute);
  }
  void add_to_input_grad(Group group, Collective collective, double bytes, std::uint32_t times = 1,
                         double overlappable_compute = 0) {
    input_grad.add(group, collective, bytes, times, overlappable_compute);
    backward.add(group, collective, bytes, times, overlappable_compute);
  }
  void add_to_weight_grad(Group group, Collective collective, double bytes) {
    weight_grad.add(group, collective, bytes);
    backward.add(group, collective, bytes);
  }
};

// Returns the bytes of so many elements of activations.
double element_bytes(const ModelSetting& setting, double elements) {
  return config::value_bytes(setting.training.precision) * elements;
}

double tensor_bytes(const ModelSetting& setting, double tokens, std::uint64_t width) {
  return element_bytes(setting, tokens * static_cast<double>(width));
}

// Returns the seconds of a weight matrix's products beside which its tensor-parallel collectives
// can run. Transformer Engine exchanges parts of a tensor while products of other parts run;
// Megatron-LM runs a whole collective beside the product for the other gradient.
PassSeconds overlapped_seconds(const Linear& linear, const ModelSetting& setting,
                               const config::Gpu& gpu, const config::Communication& communication) {
  const PassSeconds product = product_seconds(setting, linear, gpu);
  const double parts = communication.tp_comm_overlap ? 1 - 1.0 / setting.sizes.tp : 0;
  PassSeconds seconds{.forward = parts * product.forward};
  if (linear.scatters_output) seconds.input_grad = parts * product.input_grad;
  if (!linear.gathers_input) return seconds;
  // PyTorch pairs a product only with the gather of its own input or the sum of its own result
  // (Inductor's micro_pipeline_tp.py). A repeated gather therefore runs beside products that are
  // recomputed. The gradient of an input of several products is summed on the GPU first, and its
  // collective runs beside none.
  if (communication.tp_comm_overlap &&
      setting.training.tensor_format == config::TensorFormat::bshd) {
    seconds.input_grad =
        parts * product.forward * share_repeated(setting, linear.part, Kernel::Work::product);
    return seconds;
  }
  if (communication.tp_comm_overlap || communication.async_tensor_model_parallel_allreduce) {
    seconds.input_grad = product.input_grad;
    seconds.weight_grad = product.weight_grad;
  }
  return seconds;
}

// Adds the tensor-parallel calls of the adapters of a matrix (ParallelLinearAdapter of
// Megatron-Bridge, megatron/bridge/peft/utils.py). Results of A are gathered or summed, and so are
// the gradients of these results. If the matrix is cut by outputs, A reads the input that the
// matrix gathers, unless that gather runs beside the product, so that A's is a second one. Without
// sequence parallelism, the gradient of A's input is summed apart from the other. If the matrix is
// cut by inputs, the results of B are gathered over the ranks, and each continues with its tokens.
void add_adapter_calls(const ModelSetting& setting, const Linear& linear,
                       const config::Communication& communication, PassCalls& calls) {
  const bool cut = setting.sizes.sequence_parallel;
  const auto forward = [&](Collective collective, double bytes) {
    calls.add_to_forward(setting, linear.part, Group::tp, collective, bytes);
  };
  for (const Adapter& adapter : adapters_of(setting, linear)) {
    if (adapter.ranks == 1) continue;
    const double in = tensor_bytes(setting, linear.tokens, linear.inputs);
    const double between = tensor_bytes(setting, linear.tokens, adapter.b.inputs);
    if (adapter.cut_by_inputs) {
      const double out = tensor_bytes(setting, linear.tokens, linear.outputs);
      forward(Collective::all_reduce, between);
      forward(Collective::all_gather, out);
      if (cut) calls.add_to_input_grad(Group::tp, Collective::all_gather, out);
    } else {
      if (cut && communication.tp_comm_overlap) {
        forward(Collective::all_gather, in);
        calls.add_to_input_grad(Group::tp, Collective::reduce_scatter, in);
      }
      forward(Collective::all_gather, between);
      if (!cut) calls.add_to_input_grad(Group::tp, Collective::all_reduce, in);
    }
    calls.add_to_input_grad(Group::tp, Collective::all_reduce, between);
  }
}

// Adds the tensor-parallel calls of weight matrices that every token is multiplied by, unlike those
// of routed experts. A frozen matrix needs no input for a weight gradient. Transformer Engine
// gathers an input that an adapter reads before the product instead of beside it.
void add_linear_calls(const ModelSetting& setting, const std::vector<Linear>& linears,
                      const config::Gpu& gpu, const config::Communication& communication,
                      PassCalls& calls) {
  const Sizes& sizes = setting.sizes;
  if (sizes.tp == 1) return;
  for (const Linear& linear : linears) {
    const double in = tensor_bytes(setting, linear.tokens, linear.inputs);
    const double out = tensor_bytes(setting, linear.tokens, linear.outputs);
    const PassSeconds overlap = overlapped_seconds(linear, setting, gpu, communication);
    const bool cut = sizes.sequence_parallel;
    const bool is_adapted = !adapters_of(setting, linear).empty();
    const auto forward = [&](Collective collective, double bytes, double overlapped) {
      calls.add_to_forward(setting, linear.part, Group::tp, collective, bytes, 1, overlapped);
    };
    if (linear.gathers_input) {
      const Collective sum = cut ? Collective::reduce_scatter : Collective::all_reduce;
      if (cut) {
        forward(Collective::all_gather, in, is_adapted ? 0 : overlap.forward);
        if (!is_frozen(setting.training, linear.part))
          calls.add_to_input_grad(Group::tp, Collective::all_gather, in, 1, overlap.input_grad);
      }
      calls.input_grad.add(Group::tp, sum, in);
      calls.backward.add(Group::tp, sum, in, 1, overlap.weight_grad);
    }
    if (linear.gathers_output) {
      forward(Collective::all_gather, out * sizes.tp, 0);
      calls.add_to_input_grad(Group::tp, Collective::reduce_scatter, out * sizes.tp);
    }
    if (linear.scatters_output && cut) {
      forward(Collective::reduce_scatter, out, overlap.forward);
      calls.add_to_input_grad(Group::tp, Collective::all_gather, out, 1, overlap.input_grad);
    } else if (linear.scatters_output) {
      forward(Collective::all_reduce, out, 0);
    }
    if (is_adapted) add_adapter_calls(setting, linear, communication, calls);
  }
}

// Returns the call that sends tokens to the ranks of their experts with `element` bytes per
// element, or back (`combines`).
Call routing_call(const ModelSetting& setting, const Layer& layer, double element, bool combines) {
  using config::Dispatcher;
  const Sizes& sizes = setting.sizes;
  const config::ExpertTraining& experts = setting.training.experts;
  const double hidden = setting.model.expert_width();
  const auto call = [](const Operation& operation, double bytes) {
    return Call{.group = Group::ep,
                .collective = operation,
                .bytes = static_cast<std::uint64_t>(std::llround(bytes))};
  };
  switch (experts.dispatcher) {
    case Dispatcher::alltoall:
      break;
    case Dispatcher::allgather:
      return call(combines ? Collective::reduce_scatter : Collective::all_gather,
                  element * sizes.spread_tokens * sizes.ep * hidden);
    case Dispatcher::deepep:
    case Dispatcher::hybridep:
      return call({Collective::dispatch, dispatch_of(*setting.model.experts, experts)},
                  element * sizes.spread_tokens * hidden * sizes.imbalance);
  }
  return call(Collective::all_to_all, element * layer.routing.sent * hidden * sizes.imbalance);
}

// Returns the seconds of shared experts that run while tokens are sent. With
// moe_shared_expert_overlap, tokens go to their experts beside the first half of the shared experts
// and return beside the second half; gradients go the other way round (Megatron-LM,
// shared_experts.py).
PassSeconds shared_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu,
                           bool combines) {
  if (!setting.training.experts.shared_overlap) return {};
  if (combines)
    return layer_seconds(setting, kind, gpu, [](Part part) { return part == Part::shared_out; });
  return layer_seconds(setting, kind, gpu, [](Part part) {
    return part == Part::shared_in || part == Part::shared_activation;
  });
}

void add_routing_calls(const ModelSetting& setting, const Layer& layer, LayerKind kind,
                       const config::Gpu& gpu, PassCalls& calls) {
  const Sizes& sizes = setting.sizes;
  const double received =
      tensor_bytes(setting, layer.routing.received, setting.model.expert_width());
  const bool recomputes = share_repeated(setting, Part::permute, Kernel::Work::memory) == 1;
  const bool recombines = share_repeated(setting, Part::unpermute, Kernel::Work::memory) == 1;
  const double value = config::value_bytes(setting.training.precision);
  const config::DataType dispatched = setting.training.experts.dispatched;
  const double element = config::is_scaled(dispatched) ? config::element_bytes(dispatched) : value;
  CallList discarded;
  const PassSeconds dispatch_compute = shared_seconds(setting, kind, gpu, false);
  const PassSeconds combine_compute = shared_seconds(setting, kind, gpu, true);
  const auto overlapped = [&](const CallList& pass, bool combines) {
    const PassSeconds& shared = combines ? combine_compute : dispatch_compute;
    if (&pass == &calls.input_grad) return shared.input_grad;
    return &pass == &calls.backward ? shared.input_grad + shared.weight_grad : shared.forward;
  };
  for (CallList* const pass : {&calls.forward, &calls.input_grad, &calls.backward,
                               recomputes ? &calls.recomputed : &discarded}) {
    // Gradients go back the way that their tensors came, but never in a scaled type.
    const bool forward = pass == &calls.forward || pass == &calls.recomputed;
    if (sizes.ep > 1)
      for (const bool combines : {false, true}) {
        if (combines && pass == &calls.recomputed && !recombines) continue;
        Call call = routing_call(setting, layer, forward && !combines ? element : value, combines);
        call.overlappable_compute = overlapped(*pass, combines);
        call.combines = combines;
        pass->add(call);
      }
    if (sizes.etp == 1) continue;
    pass->add(Group::etp, Collective::all_gather, received);
    pass->add(Group::etp, Collective::reduce_scatter, received);
  }
}

// Adds the calls of ring attention: keys and values go around the ring once in the forward pass,
// and in the backward pass once more together with their gradients.
void add_ring_calls(const ModelSetting& setting, const Attention& attention, const config::Gpu& gpu,
                    Group group, double bytes, PassCalls& calls) {
  const PassSeconds seconds = attention_seconds(setting, attention, gpu);
  calls.add_to_forward(setting, Part::core_attention, group, Collective::ring_exchange, bytes, 1,
                       seconds.forward);
  calls.add_to_input_grad(group, Collective::ring_exchange, bytes, 2, seconds.input_grad / 2);
}

// Adds the exchanges of heads: before attention, Q, K and V go to ranks that have the whole
// sequence for a part of the heads; afterwards the result goes back. The backward pass exchanges
// gradients.
void add_head_exchange(const ModelSetting& setting, const Attention& attention, Group group,
                       PassCalls& calls) {
  const double result_bytes = element_bytes(setting, attention.result_size());
  const double input_bytes = element_bytes(
      setting, attention.query_size() + attention.key_size() + attention.value_size());
  for (const double bytes : {input_bytes, result_bytes})
    calls.add_to_forward(setting, Part::core_attention, group, Collective::all_to_all, bytes);
  for (const double bytes : {result_bytes, input_bytes})
    calls.add_to_input_grad(group, Collective::all_to_all, bytes);
}

// Adds the gathers of keys before attention. They are gathered once more in the backward pass,
// which also sums their gradients.
void add_key_gathers(const ModelSetting& setting, double bytes, PassCalls& calls) {
  calls.add_to_forward(setting, Part::core_attention, Group::cp, Collective::all_gather, bytes);
  calls.add_to_input_grad(Group::cp, Collective::all_gather, bytes);
  calls.add_to_input_grad(Group::cp, Collective::reduce_scatter, bytes);
}

void add_context_calls(const ModelSetting& setting, const Layer& layer, const config::Gpu& gpu,
                       PassCalls& calls) {
  using config::ContextComm;
  const Attention& attention = layer.attention;
  const std::uint32_t cp = setting.sizes.cp;
  if (cp == 1) return;
  // An indexer scores the keys of the whole sequence, and any of them may be chosen.
  const double index_keys =
      layer.indexing.heads > 0 ? element_bytes(setting, layer.indexing.key_size()) : 0;
  if (attention.sparse)
    return add_key_gathers(
        setting, cp * (element_bytes(setting, attention.gathered_size()) + index_keys), calls);
  if (index_keys > 0) add_key_gathers(setting, cp * index_keys, calls);
  const double keys = element_bytes(setting, attention.key_size() + attention.value_size());
  switch (setting.sizes.cp_comm) {
    case ContextComm::p2p:
      add_ring_calls(setting, attention, gpu, Group::cp, cp * keys, calls);
      break;
    case ContextComm::all_gather:
      add_key_gathers(setting, cp * keys, calls);
      break;
    case ContextComm::a2a:
      add_head_exchange(setting, attention, Group::cp, calls);
      break;
    case ContextComm::a2a_p2p:  // each rank's part of the heads and keys stays as large as before
      if (setting.sizes.cp_a2a > 1) add_head_exchange(setting, attention, Group::cp_a2a, calls);
      if (setting.sizes.cp_ring() > 1)
        add_ring_calls(setting, attention, gpu, Group::cp_p2p, setting.sizes.cp_ring() * keys,
                       calls);
      break;
  }
}

// Adds the calls of a recurrent layer with context parallelism. Its state passes along the whole
// sequence, so the ranks of cp exchange parts of the sequence for parts of the heads, and back
// (Megatron-LM's MambaContextParallel).
void add_recurrence_calls(const ModelSetting& setting, const Recurrence& recurrence,
                          PassCalls& calls) {
  if (setting.sizes.cp == 1) return;
  const double input_bytes =
      element_bytes(setting, recurrence.elements(recurrence.projected + recurrence.derived));
  const double result_bytes = element_bytes(setting, recurrence.elements(recurrence.values));
  calls.add_to_forward(setting, Part::recurrence, Group::cp, Collective::all_to_all, input_bytes);
  calls.add_to_forward(setting, Part::recurrence, Group::cp, Collective::all_to_all, result_bytes);
  calls.add_to_input_grad(Group::cp, Collective::all_to_all, result_bytes);
  calls.add_to_input_grad(Group::cp, Collective::all_to_all, input_bytes);
}

PassCalls layer_calls(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu,
                      const config::Communication& communication) {
  PassCalls calls;
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  add_linear_calls(setting, layer.attention_linears, gpu, communication, calls);
  if (layer.has_attention()) add_context_calls(setting, layer, gpu, calls);
  // The ranks of tp sum the scores of their heads, from which an indexer learns.
  if (setting.sizes.tp > 1)
    calls.add_to_forward(setting, Part::index_scores, Group::tp, Collective::all_reduce,
                         4 * learned_pairs(setting, layer));
  // A short convolution needs only the few tokens before its own, which take no time to send.
  if (layer.has_recurrence() && layer.mixer != Mixer::convolution)
    add_recurrence_calls(setting, layer.recurrence, calls);
  add_linear_calls(setting, layer.mlp_linears, gpu, communication, calls);
  if (has_experts(kind)) add_routing_calls(setting, layer, kind, gpu, calls);
  return calls;
}

double hidden_state_bytes(const ModelSetting& setting) {
  return tensor_bytes(setting, setting.sizes.tokens, setting.model.hidden);
}

// Adds the calls of the embedding: each tp rank looks up the tokens in its part of the vocabulary,
// and the results are summed.
void add_embedding_calls(const ModelSetting& setting, PassCalls& calls) {
  const double bytes = hidden_state_bytes(setting);
  if (setting.sizes.sequence_parallel) {
    calls.forward.add(Group::tp, Collective::reduce_scatter, bytes);
    if (!is_frozen(setting.training, Part::embedding))
      calls.add_to_weight_grad(Group::tp, Collective::all_gather, bytes);
  } else {
    calls.forward.add(Group::tp, Collective::all_reduce, bytes);
  }
}

// Adds the calls of the head. The loss all-reduces each token's maximum logit, target logit and
// sum, in fp32. A loss in chunks does so for each chunk, and has all gradients of the output matrix
// in the forward pass, so that the backward pass gathers no input for them. Below an output matrix
// that is the lowest trained one (`is_lowest`), no gradients are summed.
void add_head_calls(const ModelSetting& setting, bool is_lowest, PassCalls& calls) {
  const double bytes = hidden_state_bytes(setting);
  const std::uint32_t chunks = setting.training.loss_chunks;
  calls.forward.add(Group::tp, Collective::all_reduce, 4 * setting.sizes.tokens / chunks,
                    3 * chunks);
  if (setting.sizes.sequence_parallel) {
    calls.forward.add(Group::tp, Collective::all_gather, bytes);
    if (!is_lowest) calls.add_to_input_grad(Group::tp, Collective::reduce_scatter, bytes);
    if (chunks == 1 && !has_frozen_head(setting))
      calls.add_to_weight_grad(Group::tp, Collective::all_gather, bytes);
  } else if (!is_lowest) {
    calls.add_to_input_grad(Group::tp, Collective::all_reduce, bytes);
  }
}

// Returns the calls of a multi-token prediction module. Each tp rank computes a part of the
// projection, so the result is gathered. With sequence parallelism each rank continues with the
// tokens of its own part, and the gradients of these parts are gathered in turn.
PassCalls mtp_calls(const ModelSetting& model_setting, const config::Gpu& gpu,
                    const config::Communication& communication) {
  const ModelSetting setting = setting_of_mtp(model_setting);
  PassCalls calls = layer_calls(setting, kind_of_mtp(setting.model), gpu, communication);
  if (setting.sizes.tp == 1) return calls;
  add_embedding_calls(setting, calls);
  add_linear_calls(setting, {mtp_projection(setting.model, setting.sizes)}, gpu, communication,
                   calls);
  const double bytes = hidden_state_bytes(setting);
  calls.add_to_forward(setting, Part::mtp_projection, Group::tp, Collective::all_gather, bytes);
  if (setting.sizes.sequence_parallel)
    calls.add_to_input_grad(Group::tp, Collective::all_gather, bytes);
  return calls;
}

// Adds the calls of S and T of a vocabulary that is split over the pipeline's devices (arXiv
// 2411.05288, algorithms 1 and 2), as in the authors' program. Hidden states are broadcast to all
// devices in fp32; maximum logit, target logit and sum of each token are reduced together; the
// parts of the gradient are summed. The embeddings are summed likewise, and their gradient is
// broadcast. The calls run beside the layers' passes of other microbatches, unless the vocabulary
// is interlaced, which broadcasts hidden states in the data type of activations. `forward` and
// `backward` are the seconds of the layers' passes.
void add_vocabulary_calls(const ModelSetting& setting, double forward, double backward,
                          PassCalls& calls) {
  const bool interlaced = setting.sizes.interlaces_vocabulary;
  if (interlaced) forward = backward = 0;
  const double tokens = setting.sizes.spread_tokens;
  const double elements = tokens * setting.model.hidden;
  const double hidden = element_bytes(setting, elements);
  calls.forward.add(Group::pp, Collective::broadcast, interlaced ? hidden : 4 * elements, 1,
                    forward / 3);
  calls.forward.add(Group::pp, Collective::all_reduce, 4 * tokens, 3, forward / 9);
  calls.forward.add(Group::pp, Collective::all_reduce, hidden, 1, forward / 3);
  calls.input_grad.add(Group::pp, Collective::all_reduce, hidden, 1, backward / 2);
  calls.weight_grad.add(Group::pp, Collective::broadcast, hidden, 1, backward / 2);
}

// Adds the calls of an encoder of images. What is not trained makes none in the backward pass.
// Ranks of cp that share the images gather the tokens of all images.
void add_encoder_calls(const Encoder& encoder, const config::Gpu& gpu,
                       const config::Communication& communication, PassCalls& calls) {
  const ModelSetting own_setting = encoder.setting();
  const auto add = [&](const PassCalls& part, bool has_backward, bool recomputes) {
    calls.forward.add(part.forward);
    if (!has_backward) return;
    calls.input_grad.add(part.input_grad);
    calls.weight_grad.add(part.weight_grad);
    calls.backward.add(part.backward);
    if (!recomputes) return;
    calls.input_grad.add(part.recomputed);
    calls.backward.add(part.recomputed);
  };
  const PassCalls layer = layer_calls(own_setting, LayerKind::dense, gpu, communication);
  for (std::uint32_t index = 0; index < encoder.shape.layers; ++index)
    add(layer, encoder.trains_layers,
        is_recomputed(own_setting.training.recompute, {0, encoder.shape.layers}, index));
  PassCalls projector;
  add_linear_calls(own_setting, projector_linears(encoder), gpu, communication, projector);
  // The gradient of the input of the projector's first product is summed only if the layers are
  // trained.
  if (!encoder.trains_layers) projector.input_grad = projector.backward = {};
  add(projector, encoder.has_backward(), false);
  if (encoder.merged_everywhere <= encoder.merged) return;
  const double tokens = tensor_bytes(own_setting, encoder.merged_everywhere, encoder.text_hidden);
  calls.forward.add(Group::cp, Collective::all_gather, tokens);
  if (encoder.has_backward())
    calls.add_to_input_grad(Group::cp, Collective::reduce_scatter, tokens);
}

}  // namespace

StageTraffic stage_calls(const ModelSetting& setting, const StageParts& stage,
                         const config::Gpu& gpu, const config::Communication& communication) {
  PassCalls calls;
  const auto add = [&](const PassCalls& layer, bool recomputes) {
    calls.forward.add(layer.forward);
    calls.input_grad.add(layer.input_grad);
    calls.weight_grad.add(layer.weight_grad);
    calls.backward.add(layer.backward);
    if (!recomputes) return;
    calls.input_grad.add(layer.recomputed);
    calls.backward.add(layer.recomputed);
  };
  const LayerRange& layers = stage.layers;
  const std::uint32_t untrained =
      stage.embedding && layers.first == 0 ? layers_below_training(setting) : 0;
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
    const PassCalls of_layer = layer_calls(setting_of_layer(setting, layer),
                                           kind_of_layer(setting.model, layer), gpu, communication);
    if (layer < untrained)
      calls.forward.add(of_layer.forward);
    else
      add(of_layer, is_recomputed(setting.training.recompute, layers, layer));
  }
  const bool trains_head_alone =
      stage.head && untrained == setting.model.layers && !trains_mtp(setting);
  for (std::uint32_t module = 0; module < stage.mtp; ++module) {
    const PassCalls of_module = mtp_calls(setting, gpu, communication);
    if (trains_head_alone)
      calls.forward.add(of_module.forward);
    else
      add(of_module, true);
  }
  PassCalls of_vocabulary;
  if (stage.splits_vocabulary) {
    PassSeconds seconds;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
      seconds +=
          layer_seconds(setting_of_layer(setting, layer), kind_of_layer(setting.model, layer), gpu)
              .kernels;
    add_vocabulary_calls(setting, seconds.forward, seconds.before_weight_grad(), of_vocabulary);
  }
  if (const auto encoder = stage.encoder ? encoder_of(setting) : std::nullopt)
    add_encoder_calls(*encoder, gpu, communication, calls);
  StageTraffic traffic;
  if (setting.sizes.tp > 1) {
    PassCalls& of_ends = stage.splits_vocabulary ? of_vocabulary : calls;
    if (stage.embedding) add_embedding_calls(setting, of_ends);
    for (std::uint32_t run = 0; stage.head && run <= setting.model.mtp_layers; ++run)
      add_head_calls(setting,
                     trains_head_alone && setting.training.freezes(config::WeightGroup::norms),
                     of_ends);
    if (communication.scatter_gather && !setting.sizes.sequence_parallel) {
      const double bytes = setting.model.residual_streams * hidden_state_bytes(setting);
      if (stage.receives) calls.forward.add(Group::tp, Collective::all_gather, bytes);
      if (stage.sends) calls.add_to_input_grad(Group::tp, Collective::all_gather, bytes);
    }
  }
  traffic[PassKind::forward] = calls.forward.list();
  traffic[PassKind::recompute] = calls.forward.list();
  traffic[PassKind::input_grad] = calls.input_grad.list();
  traffic[PassKind::weight_grad] = calls.weight_grad.list();
  traffic[PassKind::backward] = calls.backward.list();
  // As the passes' times (model_costs.cpp): the gradient of the input belongs to S or to T.
  CallList& with_input_grad =
      setting.sizes.barriers == 1 ? of_vocabulary.forward : of_vocabulary.weight_grad;
  with_input_grad.add(of_vocabulary.input_grad);
  traffic[PassKind::output] = of_vocabulary.forward.list();
  traffic[PassKind::output_grad] = of_vocabulary.weight_grad.list();
  return traffic;
}

}  // namespace pipewright::workload
