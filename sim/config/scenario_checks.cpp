#include "sim/config/scenario_checks.hpp"

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

Error missing_key(const Value& root, std::string_view name) {
  for (const KeyHelp& key : scenario_keys())
    if (key.name == name) return missing({root, ""}, key.info);
  throw std::logic_error("no key of a scenario has this name");
}

// The backward pass comes whole or in its two halves.
void check_backward(const Scenario& scenario, const Value& root) {
  constexpr std::string_view right =
      "give backward_times (--backward-times), or both input_grad_times and weight_grad_times "
      "(--input-grad-times and --weight-grad-times)";
  const auto& whole = scenario.backward_times;
  const auto& input = scenario.input_grad_times;
  const auto& weight = scenario.weight_grad_times;
  if (whole && (input || weight))
    throw Error(
        locate(whole->origin, fmt::format("backward_times stand beside {}; {}",
                                          input && weight ? "input_grad_times and weight_grad_times"
                                          : input         ? "input_grad_times"
                                                          : "weight_grad_times",
                                          right)));
  if (whole || (input && weight)) return;
  if (!input && !weight && scenario.model) return;
  if (input || weight)
    throw Error(locate(
        (input ? input : weight)->origin,
        fmt::format("{} stand without {}; {}", input ? "input_grad_times" : "weight_grad_times",
                    input ? "weight_grad_times" : "input_grad_times", right)));
  Origin place = root.origin;
  place.line = 0;
  throw Error(locate(place, fmt::format("the backward pass has no time; {}", right)));
}

void check_network(const Scenario& scenario, const Value& root) {
  const Value* const p2p_time = find(root, "p2p_time");
  if (p2p_time != nullptr && scenario.cluster)
    throw Error(locate(p2p_time->origin,
                       fmt::format("p2p_time is a hop's latency on the ideal network, but the "
                                   "cluster given at {} has latencies of its own; leave out one "
                                   "of them",
                                   to_string(scenario.cluster->origin))));
  const Value* const placement = find(root, "placement");
  if (placement != nullptr && !scenario.cluster)
    throw Error(locate(placement->origin,
                       "placement names hosts of a cluster, but no cluster is given; give one or "
                       "leave out placement"));
}

void check_times(const Scenario& scenario, const Value& root) {
  if (scenario.layer_times && !scenario.model)
    throw Error(locate(scenario.layer_times->origin,
                       "layer_times are those of a model's layers, but no model is given; give one "
                       "(--model), or times of passes (--forward-times, ...)"));
  if (!scenario.model && scenario.forward_times.value.empty())
    throw missing_key(root, "forward_times");
}

void check_ranks(Scenario& scenario, const Value& root) {
  const Value* const placement = find(root, "placement");
  const std::uint64_t gpus = std::uint64_t{scenario.parallel.lanes()} * scenario.parallel.dp.value *
                             scenario.devices.value;
  if (placement != nullptr && scenario.placement.size() != gpus)
    throw Error(
        fmt::format("{} has {} hosts for {} GPUs; allowed: a list of host names, one per GPU",
                    subject({*placement, "placement"}), scenario.placement.size(), gpus));
  if (scenario.communication.overlap_p2p) return;
  if (const Value* const p2p = find(root, "p2p"); p2p != nullptr && scenario.p2p != P2p::blocking)
    throw Error(locate(p2p->origin,
                       fmt::format("p2p is {}, but communication.overlap_p2p is false, which is "
                                   "p2p: blocking; leave out one of them",
                                   to_string(scenario.p2p))));
  scenario.p2p = P2p::blocking;
}

// Of one replica and of random passes nobody else is a copy.
void check_symmetric(const Scenario& scenario, const Value& root) {
  if (!scenario.symmetric) return;
  const Variation& variation = scenario.variation;
  if (variation.is_random() || !variation.stragglers.empty() || !variation.links.empty())
    throw Error(locate(find(root, "symmetric")->origin,
                       "symmetric lets one replica stand for all, but variation makes them differ; "
                       "leave out one of them"));
}

// Either is given, and a batch deals out evenly.
void count_microbatches(Scenario& scenario, const Value& root) {
  if (!scenario.global_batch) {
    if (scenario.microbatches.value == 0) throw missing_key(root, "microbatches");
    return;
  }
  const std::uint32_t batch = scenario.global_batch->value;
  if (scenario.microbatches.value != 0)
    throw Error(locate(scenario.global_batch->origin,
                       fmt::format("global_batch stands beside microbatches, given at {}; leave "
                                   "out one of them",
                                   to_string(scenario.microbatches.origin))));
  const std::uint64_t step =
      std::uint64_t{scenario.parallel.dp.value} * scenario.training.microbatch_size;
  if (batch % step != 0) {
    const std::uint64_t below = batch / step * step;
    throw Error(locate(
        scenario.global_batch->origin,
        fmt::format("global_batch is {}, which {} replicas x microbatches of {} do not divide; "
                    "allowed: {}{}",
                    batch, scenario.parallel.dp.value, scenario.training.microbatch_size,
                    below > 0 ? fmt::format("{} or ", below) : "", below + step)));
  }
  scenario.microbatches = {static_cast<std::uint32_t>(batch / step), scenario.global_batch->origin};
}

}  // namespace

void check_scenario(Scenario& scenario, const Value& root) {
  count_microbatches(scenario, root);
  check_times(scenario, root);
  check_backward(scenario, root);
  check_ranks(scenario, root);
  check_symmetric(scenario, root);
  check_network(scenario, root);
}

}  // namespace pipewright::config
