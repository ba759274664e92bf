#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/config/vision_checks.hpp"

namespace pipewright::config {
namespace {

Error missing_key(const Value& root, std::string_view name) {
  for (const KeyRow& key : scenario_keys())
    if (key.name == name) return missing({root, ""}, key.info);
  throw std::logic_error("no scenario key has this name");
}

// Checks that the times of backward passes are complete: either one time, or a time for each of its
// two halves, or all three if they were measured separately.
void check_backward(const Scenario& scenario, const Value& root) {
  constexpr std::string_view advice =
      "give backward_times (--backward-times), or both input_grad_times and weight_grad_times "
      "(--input-grad-times and --weight-grad-times), or all three";
  const auto& backward = scenario.backward_times;
  const auto& input_grad = scenario.input_grad_times;
  const auto& weight_grad = scenario.weight_grad_times;
  if (backward && input_grad.has_value() != weight_grad.has_value())
    throw Error(backward->origin,
                fmt::format("backward_times and {} are given without {}",
                            input_grad ? "input_grad_times" : "weight_grad_times",
                            input_grad ? "weight_grad_times" : "input_grad_times"))
        .suggest(advice);
  if (backward || (input_grad && weight_grad)) return;
  if (!input_grad && !weight_grad && scenario.model) return;
  if (input_grad || weight_grad)
    throw Error((input_grad ? input_grad : weight_grad)->origin,
                fmt::format("{} needs {}", input_grad ? "input_grad_times" : "weight_grad_times",
                            input_grad ? "weight_grad_times" : "input_grad_times"))
        .suggest(advice);
  Origin file = root.origin;
  file.line = 0;
  throw Error(file, "the backward pass has no time", "backward_times").suggest(advice);
}

void check_network(const Scenario& scenario, const Value& root) {
  const Value* const p2p_time = find(root, "p2p_time");
  if (p2p_time != nullptr && scenario.cluster)
    throw Error(
        p2p_time->origin,
        fmt::format("p2p_time is the latency of the ideal network, but the cluster given at "
                    "{} has latencies of its own",
                    to_string(scenario.cluster->origin)))
        .suggest("leave out one of them");
  const Value* const placement = find(root, "placement");
  if (placement != nullptr && !scenario.cluster)
    throw Error(placement->origin, "placement needs a cluster")
        .suggest("give a cluster (--cluster), or leave out placement");
  if (!scenario.variation.links.empty() && !scenario.cluster)
    throw Error(scenario.variation.links.front().origin, "variation.slow_links needs a cluster")
        .suggest("give a cluster (--cluster), or leave out slow_links");
  if (!scenario.variation.bandwidth.empty() && !scenario.cluster)
    throw Error(scenario.variation.bandwidth.front().origin, "variation.bandwidth needs a cluster")
        .suggest("give a cluster (--cluster), or leave out bandwidth");
}

// Checks that no pass has its time given both by layer_times and as a whole.
void check_layers(const Scenario& scenario, const Value& root) {
  if (!scenario.layer_times) return;
  const LayerTimes& times = scenario.layer_times->value;
  const Origin& origin = scenario.layer_times->origin;
  if (!scenario.model)
    throw Error(origin, "layer_times needs a model")
        .suggest("give a model (--model), or times of passes (--forward-times, ...)");
  const Value& section = *find(root, "layer_times");
  check_layer_times(times, {section, "layer_times"}, scenario.model->value);
  const auto refuse_both = [&](bool has_layer_times, std::string_view passes,
                               std::string_view key) {
    const Value* const stage_times = find(root, key);
    if (stage_times == nullptr || !has_layer_times) return;
    throw Error(origin, fmt::format("layer_times gives the time of {}, and so does {} at {}",
                                    passes, key, to_string(stage_times->origin)))
        .suggest("leave out one of them");
  };
  refuse_both(times.has_forward(), "forward passes", "forward_times");
  for (const char* key : {"backward_times", "input_grad_times", "weight_grad_times"})
    refuse_both(times.has_backward(), "backward passes", key);
}

// Rejects keys that state the size of a microbatch if there is a model: the model and the training
// section determine it.
void check_microbatch(const Scenario& scenario, const Value& root) {
  if (!scenario.model) return;
  const auto refuse = [&](std::string_view key, std::string_view training_key,
                          std::uint32_t training_value) {
    const Value* const size = find(root, key);
    if (size == nullptr) return;
    throw Error(size->origin, fmt::format("{} is for passes without a model; with a model {} says "
                                          "so, which is {}",
                                          key, training_key, training_value))
        .suggest(fmt::format("set {} and leave out {}", training_key, key));
  };
  const Training& training = scenario.training;
  refuse("samples_per_microbatch", "training.microbatch_size", training.microbatch_size);
  refuse("tokens_per_microbatch", "training.sequence",
         training.sequence.value_or(scenario.model->value.sequence));
}

// Returns the first time of a kind, with or without a unit; 0 needs none. Null if there is none.
const Value* first_time(const Value& value, bool has_unit) {
  for (const Value& item : value.items)
    if (const Value* const time = first_time(item, has_unit)) return time;
  if (value.kind != Value::Kind::text) return nullptr;
  const std::optional<double> bare = base::parse_number<double>(value.text);
  return bare != 0.0 && bare.has_value() != has_unit ? &value : nullptr;
}

// Checks that times of passes have units, or none of them has. A bare number is in seconds, which
// is hardly meant beside "1 ms".
void check_units(const Value& root) {
  constexpr std::array keys{"forward_times",     "backward_times", "input_grad_times",
                            "weight_grad_times", "output_times",   "output_grad_times",
                            "fused_times"};
  const Value* bare = nullptr;
  const Value* with_unit = nullptr;
  std::string_view bare_key;
  for (const std::string_view key : keys)
    if (const Value* const times = find(root, key)) {
      if (bare == nullptr) {
        bare = first_time(*times, false);
        bare_key = key;
      }
      if (with_unit == nullptr) with_unit = first_time(*times, true);
    }
  if (bare == nullptr || with_unit == nullptr) return;
  throw Error(bare->origin, fmt::format("{} has {} without a unit, but another pass takes {}",
                                        bare_key, shown(bare->text), shown(with_unit->text)))
      .suggest(fmt::format("write the unit, such as {} ms or {} s", bare->text, bare->text));
}

void check_times(const Scenario& scenario, const Value& root) {
  check_units(root);
  if (scenario.model && scenario.fused_times && scenario.communication.detail == Detail::full)
    throw Error(scenario.fused_times->origin,
                "fused_times include the collectives within passes, and communication.detail: full "
                "simulates those collectives again")
        .suggest("leave out one of them");
  if (!scenario.model && scenario.forward_times.value.empty())
    throw missing_key(root, "forward_times");
  const Value* const overhead = find(root, "pass_overhead");
  if (overhead != nullptr && scenario.forward_times.value.empty() && !scenario.backward_times &&
      !scenario.input_grad_times && !scenario.fused_times)
    throw Error(overhead->origin,
                "pass_overhead is added to given times of passes, and there are none")
        .suggest("set stack.host.pass for the passes of a model");
}

// Checks parallel.tp_by_device; sizes that are all equal become parallel.tp.
void settle_tp(Scenario& scenario, const Value& root) {
  auto& sizes = scenario.parallel.tp_by_device;
  if (sizes.empty()) return;
  const Origin origin = find(*find(root, "parallel"), "tp_by_device")->origin;
  if (sizes.size() != scenario.devices.value)
    throw Error(origin,
                fmt::format("parallel.tp_by_device has {} sizes for {} devices of the pipeline",
                            sizes.size(), scenario.devices.value))
        .allow("one size per device; or leave out pp");
  const std::uint32_t tp = scenario.parallel.tp.value;
  if (std::ranges::all_of(sizes, [&](const auto& size) { return size.value == tp; })) {
    sizes.clear();
    return;
  }
  const auto refuse_with = [&](bool is_set, std::string_view feature) {
    if (is_set)
      throw Error(origin,
                  fmt::format("parallel.tp_by_device has several sizes, and {} needs a single one",
                              feature))
          .suggest("leave out one of them");
  };
  refuse_with(scenario.parallel.cuts_vocabulary(), "parallel.vocab_parallel");
  refuse_with(scenario.layer_times.has_value(), "layer_times");
  refuse_with(scenario.training.experts.power_law.has_value(), "training.experts.power_law");
  const Parallel& parallel = scenario.parallel;
  const std::array widths{tp, parallel.cp.value, parallel.ep.value, parallel.dp.value};
  const auto pp = std::ranges::find(parallel.order, Axis::pp);
  if (std::any_of(pp + 1, parallel.order.end(),
                  [&](Axis axis) { return widths.at(static_cast<std::size_t>(axis)) > 1; }))
    throw Error(origin,
                "parallel.tp_by_device has several sizes, and pp is not last in parallel.order")
        .allow("tp-cp-ep-dp-pp");
}

void check_ranks(Scenario& scenario, const Value& root) {
  settle_tp(scenario, root);
  const Value* const placement = find(root, "placement");
  const auto gpus = static_cast<std::uint64_t>(scenario.parallel.gpus());
  const std::size_t hosts = scenario.placement.hosts.size();
  if (placement != nullptr && placement->kind != Value::Kind::map && hosts != gpus)
    throw Error(placement->origin,
                fmt::format("placement has {} {} for {} {}", hosts, hosts == 1 ? "host" : "hosts",
                            gpus, gpus == 1 ? "GPU" : "GPUs"))
        .allow("a list of host names, one per GPU");
  const Value* const communication = find(root, "communication");
  const Value* const overlap =
      communication != nullptr ? find(*communication, "overlap_p2p") : nullptr;
  if (overlap != nullptr && scenario.communication.overlap_p2p && scenario.p2p == P2p::blocking)
    throw Error(overlap->origin,
                "communication.overlap_p2p is true, but p2p is blocking, which overlaps nothing")
        .suggest("leave out one of them");
  if (scenario.communication.overlap_p2p) return;
  if (const Value* const p2p = find(root, "p2p"); p2p != nullptr && scenario.p2p != P2p::blocking)
    throw Error(p2p->origin, fmt::format("p2p is {}, but communication.overlap_p2p is false, "
                                         "which means p2p: blocking",
                                         to_string(scenario.p2p)))
        .suggest("leave out one of them");
  scenario.p2p = P2p::blocking;
}

// Rejects `symmetric` if replicas differ, because then one replica cannot stand for all of them.
void check_symmetric(const Scenario& scenario, const Value& root) {
  if (!scenario.symmetric) return;
  const Variation& variation = scenario.variation;
  if (variation.is_random() || !variation.stragglers.empty() || !variation.links.empty())
    throw Error(find(root, "symmetric")->origin,
                "symmetric lets one replica stand for all, but variation makes replicas differ")
        .suggest("leave out one of them");
}

// Requires sequence parallelism for tp_comm_overlap, as Megatron-LM does: the overlap works on the
// parts of a sharded sequence.
void check_overlap(const Scenario& scenario, const Value& root) {
  const Parallel& parallel = scenario.parallel;
  if (!scenario.communication.tp_comm_overlap || parallel.sequence || parallel.tp.value == 1)
    return;
  throw Error(
      find(*find(root, "communication"), "tp_comm_overlap")->origin,
      fmt::format("communication.tp_comm_overlap is true, and parallel.sp is false (tp is {})",
                  parallel.tp.value))
      .suggest("set parallel.sp=true (--sp), or leave it out");
}

// Checks options that send tokens to experts while the GPU computes, by the rules of Megatron-LM.
void check_dispatch(const Scenario& scenario, const Value& root) {
  if (!scenario.model) return;
  const ExpertTraining& experts = scenario.training.experts;
  const std::optional<Model::Experts>& model = scenario.model->value.experts;
  const auto refusal = [&](std::string_view name, std::string_view reason) {
    const std::string key = fmt::format("training.experts.{}", name);
    return Error(origin_of(root, key), fmt::format("{} is true, {}", key, reason), key);
  };
  if (experts.delay_wgrad && !experts.overlap)
    throw refusal("delay_wgrad",
                  "and training.experts.overlap is not, so weight gradients overlap nothing")
        .suggest("set training.experts.overlap, or leave this out");
  if (experts.shared_overlap) {
    if (experts.overlap)
      throw refusal("shared_overlap",
                    "and so is training.experts.overlap: tokens travel during the shared experts, "
                    "or during another microbatch")
          .suggest("leave out one of them");
    if (experts.dispatcher != Dispatcher::alltoall)
      throw refusal("shared_overlap",
                    "which needs training.experts.dispatcher: alltoall in Megatron-LM")
          .suggest("set the dispatcher, or leave this out");
    if (!model || model->shared == 0)
      throw refusal("shared_overlap", "and the model has no shared experts")
          .suggest("leave it out");
  }
  if (!experts.overlap) return;
  if (experts.dispatcher == Dispatcher::allgather)
    throw refusal("overlap", "which Megatron-LM does not support with dispatcher: allgather")
        .suggest(
            "set training.experts.dispatcher to alltoall, deepep or hybridep, or leave this "
            "out");
  if (!model || scenario.parallel.ep.value == 1)
    throw refusal("overlap", "and parallel.ep is 1, so no token leaves its GPU")
        .suggest("leave it out");
}

// Rejects keys that cannot be combined with a vocabulary that is sharded over the pipeline.
void check_vocabulary(const Scenario& scenario, const Value& root) {
  if (!scenario.parallel.cuts_vocabulary()) return;
  const Value& value = *find(*find(root, "parallel"), "vocab_parallel");
  const auto refusal = [&](std::string_view reason) {
    return Error(value.origin,
                 fmt::format("parallel.vocab_parallel is {}, {}", value.text, reason));
  };
  if (scenario.model && scenario.model->value.mtp_layers > 0)
    throw refusal("and the output layer of multi-token prediction cannot be sharded this way")
        .allow("none");
  if (scenario.training.loss_chunks > 1)
    throw refusal("and training.loss_chunks cuts the loss by tokens")
        .suggest("leave out one of them");
  if (scenario.layer_times)
    throw refusal("and layer_times are those of a whole output layer")
        .suggest("leave out one of them");
  if (scenario.communication.detail != Detail::fast)
    throw refusal(
        "whose collectives join devices at different passes, and communication.detail: full "
        "simulates the collectives of a pass together")
        .suggest("leave out one of them");
}

void check_schedules(const Scenario& scenario) {
  for (const ScheduleSpec& spec : scenario.schedules) {
    if (spec.memory_limit && schedule_source(spec.name) != ScheduleSource::search)
      throw Error(spec.memory_limit->origin,
                  fmt::format("schedule.memory_limit is for the schedule {}, whose order is found "
                              "within the limit, and {} has a fixed order",
                              searched, spec.name))
          .suggest("leave it out");
    const auto& slices = spec[&schedules::Parameters::slices];
    if (!slices || !scenario.model) continue;
    const std::uint32_t sequence =
        scenario.training.sequence.value_or(scenario.model->value.sequence);
    if (slices->value > sequence)
      throw Error(slices->origin, fmt::format("schedule.slices is {}, and a sample has {} tokens",
                                              slices->value, sequence))
          .allow(fmt::format("1 to {}", sequence));
  }
}

// Copies to the document lengths the keys that determine how documents are distributed over
// replicas.
void settle_lengths(Scenario& scenario) {
  std::optional<Lengths>& lengths = scenario.training.lengths;
  if (!lengths) return;
  lengths->replicas = scenario.parallel.dp.value;
  lengths->cp = scenario.parallel.cp.value;
  lengths->microbatches = scenario.microbatches.value;
  lengths->iterations = scenario.iterations.value;
  lengths->seed = scenario.variation.seed;
  if (lengths->balance != Lengths::Balance::context_parallel) return;
  constexpr std::string_view key = "training.lengths.balance is context_parallel";
  if (scenario.parallel.cp.value == 1)
    throw Error(scenario.parallel.cp.origin,
                fmt::format("{}, and parallel.cp is 1, so that no ranks share a document", key))
        .suggest("give parallel.cp: 2 or more, of which documents use as many as they need");
  if (scenario.devices.value > 1)
    throw Error(
        scenario.devices.origin,
        fmt::format("{}, which Megatron-LM supports without pipeline parallelism only", key))
        .allow("parallel.pp: 1");
}

// Gives the model and the training the encoder of images, and the pipeline a device for it.
void settle_vision(Scenario& scenario) {
  if (!scenario.modules.vision) return;
  VisionModule vision = *scenario.modules.vision;
  if (!scenario.model)
    throw Error(vision.origin, "modules.vision encodes images for a model, and there is no model")
        .suggest("give model, or leave out modules.vision");
  if (vision.adapters && !scenario.training.lora)
    throw Error(vision.origin, "modules.vision.adapters is true, and there are no adapters")
        .suggest("give training.lora, or leave out modules.vision.adapters");
  vision.patches.replicas = scenario.parallel.dp.value;
  vision.patches.microbatches = scenario.microbatches.value;
  vision.patches.iterations = scenario.iterations.value;
  vision.patches.seed = scenario.variation.seed;
  set_vision(vision, scenario.parallel, scenario.model->value, scenario.training);
  if (vision.placement != VisionPlacement::own_ranks) return;
  if (scenario.devices.value < 2)
    throw Error(vision.origin,
                "modules.vision.placement is own_ranks, and the pipeline has 1 device")
        .allow("parallel.pp of 2 or more, of which the first is the encoder's");
  Partition& partition = scenario.partition;
  const bool is_listed =
      partition.rule == Partition::Rule::listed || partition.rule == Partition::Rule::layout;
  if (is_listed && partition.layers.front() != 0)
    throw Error(partition.origin,
                fmt::format("modules.vision.placement is own_ranks, and partition gives the first "
                            "stage {} layers",
                            partition.layers.front()))
        .allow("0 layers in the first stage, which is that of the encoder");
  partition.own_encoder = !is_listed;
}

void check_experts(const Scenario& scenario, const Value& root) {
  const ExpertTraining& experts = scenario.training.experts;
  if (experts.power_law && experts.imbalance != 1)
    throw Error(
        origin_of(root, "training.experts.power_law"),
        fmt::format(
            "training.experts.power_law draws an imbalance, and imbalance is given too ({})",
            experts.imbalance))
        .suggest("leave out one of them");
  if (experts.round_robin && (experts.power_law || experts.imbalance != 1))
    throw Error(
        origin_of(root, "training.experts.round_robin"),
        fmt::format("training.experts.round_robin gives all experts equally many tokens, and "
                    "{} is given too",
                    experts.power_law ? "power_law" : "imbalance"))
        .suggest("leave out one of them");
  const Value* const routing = value_at(root, "training.experts.routing");
  if (routing == nullptr || routing->kind != Value::Kind::map) return;
  for (const char* const key : {"training.experts.imbalance", "training.experts.power_law"})
    if (value_at(root, key) != nullptr)
      throw Error(routing->origin,
                  fmt::format("training.experts.routing says how uneven the tokens are, and {} is "
                              "given too",
                              key))
          .suggest("leave out one of them");
}

// Computes the number of microbatches from the global batch. Throws an Error if it does not divide
// evenly.
void count_microbatches(Scenario& scenario, const Value& root) {
  if (!scenario.global_batch) {
    if (scenario.microbatches.value == 0)
      throw missing_key(root, "microbatches")
          .suggest(
              "give the batch of an iteration: global_batch (--global-batch), or microbatches");
    return;
  }
  const std::uint32_t batch = scenario.global_batch->value;
  if (scenario.microbatches.value != 0)
    throw Error(scenario.global_batch->origin,
                fmt::format("global_batch and microbatches, given at {}, exclude each other",
                            to_string(scenario.microbatches.origin)))
        .suggest("leave out one of them");
  const std::uint64_t unit =
      std::uint64_t{scenario.parallel.dp.value} * scenario.training.microbatch_size;
  if (batch % unit != 0) {
    const std::uint64_t below = batch / unit * unit;
    throw Error(
        scenario.global_batch->origin,
        fmt::format("global_batch is {}, which {} replicas x microbatches of {} do not divide",
                    batch, scenario.parallel.dp.value, scenario.training.microbatch_size))
        .allow(fmt::format("{}{}", below > 0 ? fmt::format("{} or ", below) : "", below + unit));
  }
  scenario.microbatches = {static_cast<std::uint32_t>(batch / unit), scenario.global_batch->origin};
}

// Returns an upper limit of the number of layers in a stage. Partition rules that look at costs can
// give a stage any number of layers.
std::uint32_t stage_layers(const Scenario& scenario) {
  const std::uint32_t layers = scenario.model->value.layers;
  const std::uint32_t stages =
      scenario.parallel.pp.value - (scenario.partition.own_encoder ? 1 : 0);
  const Partition& partition = scenario.partition;
  if (partition.rule == Partition::Rule::even) return (layers + stages - 1) / stages;
  return partition.layers.empty() ? layers : std::ranges::max(partition.layers);
}

// Checks that what the optimizer's offload moves to host memory is sharded: a rank copies its
// shard.
void check_optimizer_offload(const Scenario& scenario, const Value& root) {
  const auto& offload = scenario.training.optimizer.offload;
  if (!offload) return;
  const auto check = [&](bool is_moved, std::string_view key, std::string_view what,
                         std::uint32_t least) {
    if (!is_moved || scenario.parallel.zero >= least) return;
    const std::string name = fmt::format("training.optimizer.offload.{}", key);
    throw Error(origin_of(root, name),
                fmt::format("{} is true, but parallel.zero is {}, which does not shard {}", name,
                            scenario.parallel.zero, what))
        .suggest(fmt::format("set parallel.zero to {}, or leave out {}",
                             least == 3 ? "3" : "2 or 3", key));
  };
  check(offload->gradients, "gradients", "gradients", 2);
  check(offload->weights, "weights", "weights", 3);
}

// Checks keys of gathered weights that depend on the model or on the pipeline.
void check_gathered_weights(const Scenario& scenario, const Value& root) {
  const Parallel& parallel = scenario.parallel;
  if (parallel.expert_gtp && parallel.expert_gtp->value > 1 && scenario.model &&
      !scenario.model->value.experts)
    throw Error(parallel.expert_gtp->origin,
                fmt::format("parallel.expert_gtp is {}, and the model has no experts",
                            parallel.expert_gtp->value))
        .suggest("leave it out; parallel.gtp divides all other weights");
  if (parallel.shards_optimizer_over_copies() && parallel.keeps_weights())
    throw Error(origin_of(root, "parallel.outer_sharding"),
                "parallel.outer_sharding is for weights that each pass gathers, and FSDP keeps "
                "those of a pipeline gathered")
        .allow("parallel.reshard_after_forward true, or leave it out");
  if (!parallel.unshard_lookahead || parallel.unshard_lookahead->by_device.empty()) return;
  const auto& stages = parallel.unshard_lookahead->by_device;
  if (stages.size() != scenario.devices.value)
    throw Error(origin_of(root, "parallel.unshard_lookahead"),
                fmt::format("parallel.unshard_lookahead has {} numbers, and the pipeline has {} "
                            "devices",
                            stages.size(), scenario.devices.value))
        .allow("a number for each device, such as [2, 3, 4, 4]");
  for (const Located<std::uint32_t>& ahead : stages)
    if (ahead.value > parallel.max_unsharded_stages.value_or(ahead.value))
      throw Error(ahead.origin,
                  fmt::format("parallel.unshard_lookahead has {}, and at most "
                              "parallel.max_unsharded_stages ({}) stages are gathered",
                              ahead.value, *parallel.max_unsharded_stages))
          .allow(fmt::format("at most {}", *parallel.max_unsharded_stages));
}

// Checks that the layout can distribute matrices as Muon's mode says.
void check_muon(const Scenario& scenario, const Value& root) {
  const Optimizer& optimizer = scenario.training.optimizer;
  if (optimizer.name != Optimizer::Name::muon) return;
  const Parallel& parallel = scenario.parallel;
  const Origin origin = origin_of(root, "training.optimizer.mode");
  if (parallel.gtp)
    throw Error(origin, fmt::format("training.optimizer.name is muon, whose whole matrices are not "
                                    "modelled with generalized tensor parallelism, and "
                                    "parallel.gtp is {}",
                                    parallel.gtp->value))
        .allow("name adam, or gtp 1");
  const bool is_fsdp = mode_of(optimizer, parallel.zero) == Optimizer::Mode::fsdp;
  if (optimizer.mode && parallel.zero > 0 && is_fsdp != (parallel.zero == 3))
    throw Error(origin, fmt::format("training.optimizer.mode is {}, but parallel.zero is {}, which "
                                    "{} weights",
                                    base::name_of(muon_mode_names, *optimizer.mode), parallel.zero,
                                    parallel.zero == 3 ? "shards" : "does not shard"))
        .allow(is_fsdp ? "parallel.zero 3" : "fsdp with ZeRO-3, or leave the key out");
  if (is_fsdp && parallel.zero == 3 && (parallel.tp.value > 1 || parallel.expert_tp() > 1))
    throw Error(origin,
                fmt::format("Muon with FSDP orthogonalizes matrices that one dimension of the "
                            "layout cuts, but parallel.tp is {}",
                            parallel.tp_text()))
        .allow("tp 1 and etp 1 with ZeRO-3, or parallel.zero 1");
  if (!is_fsdp && parallel.zero > 0 && parallel.replicates() > 1 &&
      mode_of(optimizer, parallel.zero) == Optimizer::Mode::layer_wise)
    throw Error(origin,
                fmt::format("Muon's layer_wise mode gives whole matrices to all replicas, but "
                            "parallel.replicate is {}",
                            parallel.replicates()))
        .allow("replicate 1");
}

// Checks that the host can make the step of the optimizer.
void check_offloaded_step(const Scenario& scenario, const Value& root) {
  const Optimizer& optimizer = scenario.training.optimizer;
  if (!optimizer.offload || optimizer.name == Optimizer::Name::adam) return;
  throw Error(origin_of(root, "training.optimizer.offload"),
              fmt::format("the CPU updates parameters by Adam only, but training.optimizer.name is "
                          "{}",
                          base::name_of(optimizer_names, optimizer.name)))
      .suggest("set name to adam, or leave out offload");
}

}  // namespace

void check_scenario(Scenario& scenario, const Value& root) {
  count_microbatches(scenario, root);
  settle_lengths(scenario);
  settle_vision(scenario);
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
  check_optimizer_offload(scenario, root);
  check_offloaded_step(scenario, root);
  check_gathered_weights(scenario, root);
  check_muon(scenario, root);
  if (scenario.model) {
    check_recompute(root, scenario.model->value, scenario.training, stage_layers(scenario));
    check_fine_tuning(root, scenario.model->value, scenario.training);
    check_cuda_graphs(root, scenario.model->value, scenario.training);
    check_module_types(root, scenario.model->value, scenario.training);
    check_loss_chunks(root, scenario.model->value, scenario.training, scenario.parallel.cp.value);
  }
}

}  // namespace pipewright::config
