#include "sim/workload/model/calls.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

using schedules::PassKind;

// The calls of one pass, alike ones together.
class Calls {
 public:
  void add(Group group, Collective collective, double bytes, std::uint32_t times = 1,
           double hides_under = 0) {
    if (bytes <= 0 || times == 0) return;
    const auto whole = static_cast<std::uint64_t>(std::llround(bytes));
    const auto same = std::ranges::find_if(list_, [&](const Call& call) {
      return call.group == group && call.collective == collective && call.bytes == whole &&
             (call.hides_under > 0) == (hides_under > 0);
    });
    if (same == list_.end()) {
      list_.push_back({group, collective, whole, times, hides_under});
      return;
    }
    same->times += times;
    same->hides_under += hides_under;
  }
  void add(const Calls& others) {
    for (const Call& call : others.list_)
      add(call.group, call.collective, static_cast<double>(call.bytes), call.times,
          call.hides_under);
  }
  std::vector<Call> list() const { return list_; }

 private:
  std::vector<Call> list_;
};

struct PassCalls {
  Calls forward;
  Calls input_grad;
  Calls weight_grad;
};

double bytes_of(double tokens, std::uint64_t width) {
  return 2 * tokens * static_cast<double>(width);
}

// Of the matrices of a layer that every token goes through.
void add_linears(const Sizes& sizes, const std::vector<Linear>& linears, const config::Gpu& gpu,
                 PassCalls& calls) {
  if (sizes.tp == 1) return;
  const double hides_under = gathered_grad_seconds(linears, gpu);
  std::uint32_t gathered = 0;
  for (const Linear& linear : linears) gathered += linear.gathers_input ? 1 : 0;
  for (const Linear& linear : linears) {
    const double in = bytes_of(linear.tokens, linear.inputs);
    const double out = bytes_of(linear.tokens, linear.outputs);
    if (!sizes.sequence_parallel) {
      if (linear.gathers_input) calls.input_grad.add(Group::tp, Collective::all_reduce, in);
      if (linear.scatters_output) calls.forward.add(Group::tp, Collective::all_reduce, out);
      continue;
    }
    if (linear.gathers_input) {
      calls.forward.add(Group::tp, Collective::all_gather, in);
      calls.input_grad.add(Group::tp, Collective::reduce_scatter, in);
      calls.input_grad.add(Group::tp, Collective::all_gather, in, 1, hides_under / gathered);
    }
    if (linear.scatters_output) {
      calls.forward.add(Group::tp, Collective::reduce_scatter, out);
      calls.input_grad.add(Group::tp, Collective::all_gather, out);
    }
  }
}

void add_routing(const Setting& setting, const Layer& layer, PassCalls& calls) {
  const Sizes& sizes = setting.sizes;
  if (layer.router.empty()) return;
  const double sent = bytes_of(layer.routing.sent, setting.model.hidden);
  const double received = bytes_of(layer.routing.received, setting.model.hidden);
  for (Calls* const pass : {&calls.forward, &calls.input_grad}) {
    if (sizes.ep > 1) pass->add(Group::ep, Collective::all_to_all, sent, 2);
    if (sizes.tp == 1) continue;
    if (sizes.sequence_parallel) {
      pass->add(Group::tp, Collective::all_gather, received);
      pass->add(Group::tp, Collective::reduce_scatter, received);
    } else {
      pass->add(Group::tp, Collective::all_reduce, bytes_of(sizes.tokens, setting.model.hidden));
    }
  }
}

// Keys and values go round forward, and once more with their gradients backward.
void add_ring(const Setting& setting, const Attention& attention, const config::Gpu& gpu,
              PassCalls& calls) {
  const std::uint32_t cp = setting.sizes.cp;
  if (cp == 1) return;
  const double bytes = 2 * cp * (attention.key_size() + attention.value_size());
  const PassSeconds seconds = attention_seconds(setting, attention, gpu);
  calls.forward.add(Group::cp, Collective::ring_exchange, bytes, 1, seconds.forward);
  calls.input_grad.add(Group::cp, Collective::ring_exchange, bytes, 2, seconds.input_grad);
}

PassCalls layer_calls(const Setting& setting, LayerKind kind, const config::Gpu& gpu) {
  PassCalls calls;
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  add_linears(setting.sizes, layer.attention_linears, gpu, calls);
  add_ring(setting, layer.attention, gpu, calls);
  add_linears(setting.sizes, layer.mlp_linears, gpu, calls);
  add_routing(setting, layer, calls);
  return calls;
}

double hidden_bytes(const Setting& setting) {
  return bytes_of(setting.sizes.tokens, setting.model.hidden);
}

// Each rank looks up its part of the vocabulary.
void add_embedding(const Setting& setting, PassCalls& calls) {
  const double bytes = hidden_bytes(setting);
  if (setting.sizes.sequence_parallel) {
    calls.forward.add(Group::tp, Collective::reduce_scatter, bytes);
    calls.weight_grad.add(Group::tp, Collective::all_gather, bytes);
  } else {
    calls.forward.add(Group::tp, Collective::all_reduce, bytes);
  }
}

// The loss needs of each token the greatest logit, that of its target and the sum, in fp32.
void add_head(const Setting& setting, PassCalls& calls) {
  const double bytes = hidden_bytes(setting);
  calls.forward.add(Group::tp, Collective::all_reduce, 4 * setting.sizes.tokens, 3);
  if (setting.sizes.sequence_parallel) {
    calls.forward.add(Group::tp, Collective::all_gather, bytes);
    calls.input_grad.add(Group::tp, Collective::reduce_scatter, bytes);
    calls.weight_grad.add(Group::tp, Collective::all_gather, bytes);
  } else {
    calls.input_grad.add(Group::tp, Collective::all_reduce, bytes);
  }
}

// What the layers do forward once more before I.
bool repeats(const Setting& setting, const Call& call) {
  switch (setting.training.recompute) {
    case config::Recompute::none:
      return false;
    case config::Recompute::selective:
      return !setting.training.flash_attention && call.group == Group::cp;
    case config::Recompute::full:
      return true;
  }
  return false;
}

}  // namespace

StageTraffic stage_calls(const Setting& setting, const StageParts& stage, const config::Gpu& gpu,
                         bool scatter_gather) {
  PassCalls calls;
  for (std::uint32_t index = 0; index < stage.layers.count; ++index) {
    const PassCalls layer =
        layer_calls(setting, kind_of_layer(setting.model, stage.layers.first + index), gpu);
    calls.forward.add(layer.forward);
    calls.input_grad.add(layer.input_grad);
    calls.weight_grad.add(layer.weight_grad);
    for (const Call& call : layer.forward.list())
      if (repeats(setting, call))
        calls.input_grad.add(call.group, call.collective, static_cast<double>(call.bytes),
                             call.times, call.hides_under);
  }
  StageTraffic traffic;
  const auto of = [&](PassKind kind) -> std::vector<Call>& {
    return traffic.inside[static_cast<std::size_t>(kind)];
  };
  if (setting.sizes.tp > 1) {
    if (stage.embedding) add_embedding(setting, calls);
    if (stage.head) add_head(setting, calls);
    if (scatter_gather && !setting.sizes.sequence_parallel) {
      const double bytes = hidden_bytes(setting);
      if (stage.receives) calls.forward.add(Group::tp, Collective::all_gather, bytes);
      if (stage.sends) calls.input_grad.add(Group::tp, Collective::all_gather, bytes);
    }
  }
  of(PassKind::forward) = calls.forward.list();
  of(PassKind::recompute) = calls.forward.list();
  of(PassKind::input_grad) = calls.input_grad.list();
  of(PassKind::weight_grad) = calls.weight_grad.list();
  calls.input_grad.add(calls.weight_grad);
  of(PassKind::backward) = calls.input_grad.list();
  return traffic;
}

}  // namespace pipewright::workload
