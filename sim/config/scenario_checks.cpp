#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/training_checks.hpp"

namespace pipewright::config {
namespace {

Error missing_key(const Value& root, std::string_view name) {
  for (const KeyRow& key : scenario_keys())
    if (key.name == name) return missing({root, ""}, key.info);
  throw std::logic_error("no key of a scenario has this name");
}

// The backward pass comes whole, in its two halves, or as both where they were timed apart.
void check_backward(const Scenario& scenario, const Value& root) {
  constexpr std::string_view right =
      "give backward_times (--backward-times), or both input_grad_times and weight_grad_times "
      "(--input-grad-times and --weight-grad-times), or all three";
  const auto& whole = scenario.backward_times;
  const auto& input = scenario.input_grad_times;
  const auto& weight = scenario.weight_grad_times;
  if (whole && input.has_value() != weight.has_value())
    throw Error(whole->origin,
                fmt::format("backward_times stand beside {} alone; {}",
                            input ? "input_grad_times" : "weight_grad_times", right));
  if (whole || (input && weight)) return;
  if (!input && !weight && scenario.model) return;
  if (input || weight)
    throw Error(
        (input ? input : weight)->origin,
        fmt::format("{} stand without {}; {}", input ? "input_grad_times" : "weight_grad_times",
                    input ? "weight_grad_times" : "input_grad_times", right));
  Origin place = root.origin;
  place.line = 0;
  throw Error(place, fmt::format("the backward pass has no time; {}", right));
}

void check_network(const Scenario& scenario, const Value& root) {
  const Value* const p2p_time = find(root, "p2p_time");
  if (p2p_time != nullptr && scenario.cluster)
    throw Error(p2p_time->origin,
                fmt::format("p2p_time is a hop's latency on the ideal network, but the "
                            "cluster given at {} has latencies of its own; leave out one "
                            "of them",
                            to_string(scenario.cluster->origin)));
  const Value* const placement = find(root, "placement");
  if (placement != nullptr && !scenario.cluster)
    throw Error(placement->origin,
                "placement is on hosts of a cluster, but no cluster is given; give one or "
                "leave out placement");
  if (!scenario.variation.links.empty() && !scenario.cluster)
    throw Error(scenario.variation.links.front().origin,
                "variation.slow_links names links of a cluster, but no cluster is given; "
                "give one or leave out slow_links");
  if (!scenario.variation.bandwidth.empty() && !scenario.cluster)
    throw Error(scenario.variation.bandwidth.front().origin,
                "variation.bandwidth is of links of a cluster, but no cluster is given; give one "
                "or leave out bandwidth");
}

// Times of layers or of whole passes, not both of the same passes.
void check_layers(const Scenario& scenario, const Value& root) {
  if (!scenario.layer_times) return;
  const LayerTimes& times = scenario.layer_times->value;
  const Origin& origin = scenario.layer_times->origin;
  if (!scenario.model)
    throw Error(origin,
                "layer_times are those of a model's layers, but no model is given; give one "
                "(--model), or times of passes (--forward-times, ...)");
  const Value& given = *find(root, "layer_times");
  check_layer_times(times, {given, "layer_times"}, scenario.model->value);
  const auto refuse = [&](bool of_layers, std::string_view what, std::string_view name) {
    if (const Value* const passes = find(root, name); passes != nullptr && of_layers)
      throw Error(origin, fmt::format("layer_times says what the {} of layers take, and {}, given "
                                      "at {}, what those of whole stages take; leave out one of "
                                      "them",
                                      what, name, to_string(passes->origin)));
  };
  refuse(times.has_forward(), "forward passes", "forward_times");
  for (const char* name : {"backward_times", "input_grad_times", "weight_grad_times"})
    refuse(times.has_backward(), "backward passes", name);
}

// Of a model, what a microbatch has is known.
void check_microbatch(const Scenario& scenario, const Value& root) {
  if (!scenario.model) return;
  const auto refuse = [&](std::string_view name, std::string_view right, std::uint32_t value) {
    const Value* const given = find(root, name);
    if (given == nullptr) return;
    throw Error(given->origin, fmt::format("{} is for passes without a model, and the "
                                           "model's {} is {}; set that and leave out {}",
                                           name, right, value, name));
  };
  const Training& training = scenario.training;
  refuse("samples_per_microbatch", "training.microbatch_size", training.microbatch_size);
  refuse("tokens_per_microbatch", "training.sequence",
         training.sequence.value_or(scenario.model->value.sequence));
}

void check_times(const Scenario& scenario, const Value& root) {
  if (scenario.model && scenario.fused_times && scenario.communication.detail == Detail::full)
    throw Error(scenario.fused_times->origin,
                "fused_times hold the collectives within their passes, and "
                "communication.detail: full simulates them once more; leave out one of "
                "them");
  if (!scenario.model && scenario.forward_times.value.empty())
    throw missing_key(root, "forward_times");
  const Value* const overhead = find(root, "pass_overhead");
  if (overhead != nullptr && scenario.forward_times.value.empty() && !scenario.backward_times &&
      !scenario.input_grad_times && !scenario.fused_times)
    throw Error(overhead->origin,
                "pass_overhead is added to times of passes that are given, and none is; "
                "those of a model have gpu.pass_overhead");
}

// All alike are as one tp.
void settle_tp(Scenario& scenario, const Value& root) {
  auto& sizes = scenario.parallel.tp_by_device;
  if (sizes.empty()) return;
  const Origin origin = find(*find(root, "parallel"), "tp_by_device")->origin;
  const auto refuse = [&](const std::string& text) { throw Error(origin, text); };
  if (sizes.size() != scenario.devices.value)
    refuse(
        fmt::format("parallel.tp_by_device has {} sizes, and the pipeline {} devices; allowed: "
                    "one for each, or leave out pp",
                    sizes.size(), scenario.devices.value));
  const std::uint32_t tp = scenario.parallel.tp.value;
  if (std::ranges::all_of(sizes, [&](const auto& one) { return one.value == tp; })) {
    sizes.clear();
    return;
  }
  // What is said of the ranks of one tp cannot be said of several.
  const auto needs_one = [&](bool given, std::string_view what) {
    if (given)
      refuse(
          fmt::format("parallel.tp_by_device has several sizes, and {} one; leave out one of "
                      "them",
                      what));
  };
  needs_one(scenario.parallel.cuts_vocabulary(), "parallel.vocab_parallel takes");
  needs_one(scenario.layer_times.has_value(), "layer_times are of");
  needs_one(scenario.training.experts.power_law.has_value(),
            "training.experts.power_law draws the tokens of");
  const Parallel& parallel = scenario.parallel;
  const std::array cut{tp, parallel.cp.value, parallel.ep.value, parallel.dp.value};
  const auto pp = std::ranges::find(parallel.order, Axis::pp);
  if (std::any_of(pp + 1, parallel.order.end(),
                  [&](Axis axis) { return cut.at(static_cast<std::size_t>(axis)) > 1; }))
    refuse(
        "parallel.tp_by_device has several sizes, and in parallel.order pp is not last; allowed: "
        "tp-cp-ep-dp-pp");
}

void check_ranks(Scenario& scenario, const Value& root) {
  settle_tp(scenario, root);
  const Value* const placement = find(root, "placement");
  const auto gpus = static_cast<std::uint64_t>(scenario.parallel.gpus());
  const std::size_t hosts = scenario.placement.hosts.size();
  if (placement != nullptr && placement->kind != Value::Kind::map && hosts != gpus)
    throw Error(fmt::format("{} has {} {} for {} {}; allowed: a list of host names, one per GPU",
                            subject({*placement, "placement"}), hosts,
                            hosts == 1 ? "host" : "hosts", gpus, gpus == 1 ? "GPU" : "GPUs"));
  const Value* const talk = find(root, "communication");
  const Value* const overlap = talk != nullptr ? find(*talk, "overlap_p2p") : nullptr;
  if (overlap != nullptr && scenario.communication.overlap_p2p && scenario.p2p == P2p::blocking)
    throw Error(overlap->origin,
                "communication.overlap_p2p is true, but p2p is blocking, which overlaps "
                "nothing; leave out one of them");
  if (scenario.communication.overlap_p2p) return;
  if (const Value* const p2p = find(root, "p2p"); p2p != nullptr && scenario.p2p != P2p::blocking)
    throw Error(p2p->origin,
                fmt::format("p2p is {}, but communication.overlap_p2p is false, which is "
                            "p2p: blocking; leave out one of them",
                            to_string(scenario.p2p)));
  scenario.p2p = P2p::blocking;
}

// Of one replica and of random passes nobody else is a copy.
void check_symmetric(const Scenario& scenario, const Value& root) {
  if (!scenario.symmetric) return;
  const Variation& variation = scenario.variation;
  if (variation.is_random() || !variation.stragglers.empty() || !variation.links.empty())
    throw Error(find(root, "symmetric")->origin,
                "symmetric lets one replica stand for all, but variation makes them differ; "
                "leave out one of them");
}

// As Megatron-LM asks for: what tensor parallelism overlaps are the parts of a cut sequence.
void check_overlap(const Scenario& scenario, const Value& root) {
  const Parallel& parallel = scenario.parallel;
  if (!scenario.communication.tp_comm_overlap || parallel.sequence || parallel.tp.value == 1)
    return;
  const Value* const given = find(*find(root, "communication"), "tp_comm_overlap");
  throw Error(given->origin,
              fmt::format("communication.tp_comm_overlap is true, and parallel.sp is false "
                          "(tp is {}); set parallel.sp=true (--sp), or leave it out",
                          parallel.tp.value));
}

// As Megatron-LM asks for what sends tokens beside compute.
void check_dispatch(const Scenario& scenario, const Value& root) {
  if (!scenario.model) return;
  const ExpertTraining& experts = scenario.training.experts;
  const std::optional<Model::Experts>& model = scenario.model->value.experts;
  const auto refuse = [&](std::string_view key, std::string_view why) {
    const std::string whole = fmt::format("training.experts.{}", key);
    throw Error(origin_of(root, whole), fmt::format("{} is true, {}", whole, why));
  };
  if (experts.delay_wgrad && !experts.overlap)
    refuse("delay_wgrad",
           "and training.experts.overlap is not, so that nothing goes beside weight gradients; set "
           "that, or leave this out");
  if (experts.shared_overlap) {
    if (experts.overlap)
      refuse("shared_overlap",
             "and so is training.experts.overlap: tokens go beside shared experts, or beside "
             "another microbatch; leave out one of them");
    if (experts.dispatcher != Dispatcher::alltoall)
      refuse("shared_overlap",
             "which in Megatron-LM only works with training.experts.dispatcher: alltoall; set "
             "that, or leave this out");
    if (!model || model->shared == 0)
      refuse("shared_overlap", "and the model has no shared experts; leave it out");
  }
  if (!experts.overlap) return;
  if (experts.dispatcher == Dispatcher::allgather)
    refuse("overlap",
           "which in Megatron-LM works with training.experts.dispatcher: alltoall, deepep or "
           "hybridep, and not with allgather; set one of them, or leave this out");
  if (!model || scenario.parallel.ep.value == 1)
    refuse("overlap", "and parallel.ep is 1, so that no token leaves its GPU; leave it out");
}

// What cuts a vocabulary over the pipeline, and what that leaves no meaning to.
void check_vocabulary(const Scenario& scenario, const Value& root) {
  if (!scenario.parallel.cuts_vocabulary()) return;
  const Value& given = *find(*find(root, "parallel"), "vocab_parallel");
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds)
      throw Error(given.origin, fmt::format("parallel.vocab_parallel is {}, {}", given.text, what));
  };
  require(!scenario.model || scenario.model->value.mtp_layers == 0,
          "and no passes are known for the output layer of multi-token prediction; allowed: none");
  require(!scenario.layer_times,
          "and layer_times are of a whole output layer; leave out one of them");
  require(scenario.communication.detail == Detail::fast,
          "whose collectives join devices that are at different passes, and communication.detail: "
          "full simulates those of a pass together; leave out one of them");
}

void check_schedules(const Scenario& scenario) {
  for (const ScheduleSpec& spec : scenario.schedules) {
    if (spec.memory_limit && schedule_source(spec.name) != ScheduleSource::search)
      throw Error(spec.memory_limit->origin,
                  fmt::format("schedule.memory_limit is for the schedule {}, which looks for an "
                              "order within it; {} has an order of its own; leave it out",
                              searched, spec.name));
    const auto& slices = spec[&schedules::Parameters::slices];
    if (!slices || !scenario.model) continue;
    const std::uint32_t sequence =
        scenario.training.sequence.value_or(scenario.model->value.sequence);
    if (slices->value > sequence)
      throw Error(slices->origin,
                  fmt::format("schedule.slices is {}, and a sample has {} tokens; allowed: "
                              "1 to {}",
                              slices->value, sequence, sequence));
  }
}

// Whose documents are dealt out to whom follows from other keys.
void settle_lengths(Scenario& scenario) {
  std::optional<Lengths>& lengths = scenario.training.lengths;
  if (!lengths) return;
  lengths->replicas = scenario.parallel.dp.value;
  lengths->microbatches = scenario.microbatches.value;
  lengths->iterations = scenario.iterations.value;
  lengths->seed = scenario.variation.seed;
}

void check_experts(const Scenario& scenario, const Value& root) {
  const ExpertTraining& experts = scenario.training.experts;
  if (experts.power_law && experts.imbalance != 1)
    throw Error(origin_of(root, "training.experts.power_law"),
                fmt::format("training.experts.power_law draws what imbalance ({}) says; "
                            "leave out one of them",
                            experts.imbalance));
}

// Either is given, and a batch deals out evenly.
void count_microbatches(Scenario& scenario, const Value& root) {
  if (!scenario.global_batch) {
    if (scenario.microbatches.value == 0) throw missing_key(root, "microbatches");
    return;
  }
  const std::uint32_t batch = scenario.global_batch->value;
  if (scenario.microbatches.value != 0)
    throw Error(scenario.global_batch->origin,
                fmt::format("global_batch stands beside microbatches, given at {}; leave "
                            "out one of them",
                            to_string(scenario.microbatches.origin)));
  const std::uint64_t step =
      std::uint64_t{scenario.parallel.dp.value} * scenario.training.microbatch_size;
  if (batch % step != 0) {
    const std::uint64_t below = batch / step * step;
    throw Error(
        scenario.global_batch->origin,
        fmt::format("global_batch is {}, which {} replicas x microbatches of {} do not divide; "
                    "allowed: {}{}",
                    batch, scenario.parallel.dp.value, scenario.training.microbatch_size,
                    below > 0 ? fmt::format("{} or ", below) : "", below + step));
  }
  scenario.microbatches = {static_cast<std::uint32_t>(batch / step), scenario.global_batch->origin};
}

// The most layers that a stage may have: rules that look at costs may give it any number.
std::uint32_t stage_layers(const Scenario& scenario) {
  const std::uint32_t layers = scenario.model->value.layers;
  const std::uint32_t stages = scenario.parallel.pp.value;
  const Partition& partition = scenario.partition;
  if (partition.rule == Partition::Rule::even) return (layers + stages - 1) / stages;
  return partition.layers.empty() ? layers : std::ranges::max(partition.layers);
}

}  // namespace

void check_scenario(Scenario& scenario, const Value& root) {
  count_microbatches(scenario, root);
  settle_lengths(scenario);
  check_experts(scenario, root);
  check_times(scenario, root);
  check_layers(scenario, root);
  check_microbatch(scenario, root);
  check_backward(scenario, root);
  check_ranks(scenario, root);
  check_overlap(scenario, root);
  check_dispatch(scenario, root);
  check_vocabulary(scenario, root);
  check_schedules(scenario);
  check_symmetric(scenario, root);
  check_network(scenario, root);
  if (scenario.model)
    check_recompute(root, scenario.model->value, scenario.training, stage_layers(scenario));
}

}  // namespace pipewright::config
