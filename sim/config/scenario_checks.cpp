#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/pass_checks.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/sharding_checks.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/config/vision_checks.hpp"

namespace pipewright::config {
namespace {

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

}  // namespace

void check_scenario(Scenario& scenario, const Value& root) {
  count_microbatches(scenario, root);
  settle_lengths(scenario);
  settle_vision(scenario);
  check_experts(scenario, root);
  check_passes(scenario, root);
  check_ranks(scenario, root);
  check_overlap(scenario, root);
  check_dispatch(scenario, root);
  check_vocabulary(scenario, root);
  check_schedules(scenario);
  check_symmetric(scenario, root);
  check_network(scenario, root);
  check_sharding(scenario, root);
  if (scenario.model) {
    check_recompute(root, scenario.model->value, scenario.training, stage_layers(scenario));
    check_fine_tuning(root, scenario.model->value, scenario.training);
    check_cuda_graphs(root, scenario.model->value, scenario.training);
    check_module_types(root, scenario.model->value, scenario.training);
    check_loss_chunks(root, scenario.model->value, scenario.training, scenario.parallel.cp.value);
  }
}

}  // namespace pipewright::config
