#include "sim/config/sharding_checks.hpp"

#include <string_view>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

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

}  // namespace

void check_sharding(const Scenario& scenario, const Value& root) {
  check_optimizer_offload(scenario, root);
  check_offloaded_step(scenario, root);
  check_gathered_weights(scenario, root);
  check_muon(scenario, root);
}

}  // namespace pipewright::config
