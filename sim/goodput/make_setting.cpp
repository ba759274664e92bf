#include "sim/goodput/make_setting.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/failure_trace.hpp"

namespace pipewright::goodput {
namespace {

using config::Goodput;

// Storage of Llama 3's cluster: 2 TB/s sustained for 24,576 GPUs, 3072 nodes (arXiv 2407.21783,
// sections 3.3.1 and 3.3.4).
constexpr double storage_a_node = 2e12 / 3072;

constexpr double thousand_days = 1000 * 86400.0;

FailureKind kind_of(const Goodput& goodput, const Goodput::Failure& failure, std::uint32_t nodes) {
  const std::uint32_t usual = failure.kind == Goodput::Kind::software ? 0 : 1;
  return {.name = std::string(config::name_of(failure.kind)),
          .rate = failure.rate * nodes / thousand_days,
          .shape = failure.shape,
          .units = nodes,
          .nodes = std::min(failure.nodes.value_or(usual), nodes),
          .detection = failure.detection.value_or(goodput.detection),
          .repair = failure.repair.value_or(goodput.repair)};
}

double share_of(const Goodput& goodput, std::uint32_t nodes) {
  const auto [all, origin] = *goodput.trace_nodes;
  if (!goodput.trace)
    throw config::Error(origin, "goodput.trace_nodes is of a trace; give goodput.failure_trace");
  if (nodes > all)
    throw config::Error(
        origin, fmt::format("goodput.trace_nodes is {}, and the job has {} nodes; allowed: as many "
                            "at least",
                            all, nodes));
  return static_cast<double>(nodes) / all;
}

}  // namespace

Setting make_setting(const Goodput& goodput, const config::Parallel& parallel,
                     const Iteration& iteration, std::optional<double> tokens) {
  const std::uint32_t nodes = iteration.nodes;
  const Goodput::Checkpoint& checkpoint = goodput.checkpoint;
  Setting setting{.nodes = nodes, .replicas = parallel.dp.value};
  if (tokens) {
    if (!iteration.tokens) throw config::Error("--tokens needs a model, or tokens_per_microbatch");
    setting.target = *tokens / *iteration.tokens * iteration.seconds;
  } else {
    setting.duration = goodput.duration;
  }
  const std::vector<Goodput::Failure> failures = goodput.failures.empty() && !goodput.trace
                                                     ? config::published_failures("rsc-1")
                                                     : goodput.failures;
  for (const Goodput::Failure& failure : failures)
    setting.failures.push_back(kind_of(goodput, failure, nodes));
  if (goodput.trace) setting.trace = read_failure_trace(goodput.trace->value, goodput, nodes);
  if (goodput.trace_nodes) setting.trace_share = share_of(goodput, nodes);
  setting.straggler_rate = goodput.straggler.rate * nodes / thousand_days;
  setting.straggler_factor = goodput.straggler.factor;
  setting.straggler_lasts = goodput.straggler.lasts;
  setting.straggler_replaced_after = goodput.straggler.after.value_or(never);
  setting.corruption_rate = goodput.corruption.rate * nodes / thousand_days;
  setting.corruption_found_after = goodput.corruption.found_after;

  constexpr double week = 7 * 86400;
  if (goodput.planned.a_week > 0) setting.planned_every = week / goodput.planned.a_week;
  setting.planned_lasts = goodput.planned.lasts;
  if (setting.planned_lasts >= setting.planned_every)
    throw config::Error(
        fmt::format("goodput.planned: {:g} stops a week that last {:g} h each leave no time to "
                    "train",
                    goodput.planned.a_week, goodput.planned.lasts / 3600));

  setting.mode = checkpoint.mode;
  setting.bytes = checkpoint.bytes ? static_cast<double>(*checkpoint.bytes) : iteration.state_bytes;
  if (setting.bytes <= 0)
    throw config::Error(
        "a checkpoint's size is not known without a model or a map `state`; give it "
        "(--set goodput.checkpoint.bytes='100 GB')");
  setting.storage = checkpoint.storage.value_or(storage_a_node * nodes);
  setting.read = checkpoint.read.value_or(setting.storage);
  setting.copy = setting.bytes / iteration.gpus / checkpoint.copy;
  setting.peer_interval = checkpoint.peer_interval;
  setting.peer = setting.bytes / nodes / checkpoint.peer;
  setting.network = checkpoint.network.value_or(0);
  setting.traffic = checkpoint.traffic.value_or(iteration.traffic_bytes / iteration.seconds);
  if (setting.network > 0 && setting.traffic > setting.network)
    throw config::Error(fmt::format(
        "training sends {:.4g} GB/s, more than the network has that it shares with storage, {:.4g} "
        "GB/s; goodput.checkpoint.network is of all nodes together",
        setting.traffic / 1e9, setting.network / 1e9));
  setting.restart = goodput.restart;
  setting.repair = goodput.repair;
  setting.spares = goodput.spares;
  if (goodput.rest_is_spare) {
    if (iteration.cluster_nodes == 0)
      throw config::Error(
          "goodput.spares is rest, the nodes that the job leaves of a cluster, and there is none: "
          "give the cluster, or a number of nodes");
    setting.spares = iteration.cluster_nodes - nodes;
  }
  setting.elastic = goodput.elastic;
  setting.interval = checkpoint.interval.value_or(best_by_formula(setting));
  return setting;
}

double best_by_formula(const Setting& setting) {
  const double whole = std::min(setting.duration, setting.target);
  const double rate = stops(setting);
  if (rate <= 0) return whole;
  // What goes to the storage beside training still takes as long, one after the other; and beside
  // copies in peers' memory it is for rare cases, as often as if training waited for it.
  const double write = flow_seconds(setting, setting.storage);
  const double waits = setting.mode == Goodput::Mode::async ? setting.copy : write;
  return std::min(whole, std::max(std::min(write, 1 / rate), daly_interval(waits, 1 / rate)));
}

}  // namespace pipewright::goodput
