#include "sim/goodput/make_setting.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/config/text/value.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/failure_trace.hpp"

namespace pipewright::goodput {
namespace {

using config::Goodput;

// Storage of Llama 3's cluster: 2 TB/s sustained for 24,576 GPUs (arXiv 2407.21783, sections 3.3.1
// and 3.3.4).
constexpr double storage_per_gpu = 2e12 / 24576;

constexpr double thousand_days = 1000 * 86400.0;

[[noreturn]] void no_racks(const config::Origin& origin, std::string_view key) {
  throw config::Error(
      origin,
      fmt::format("{} needs racks, but each node of this cluster is an NVLink domain "
                  "of its own",
                  key),
      std::string(key))
      .suggest("use a cluster of NVLink racks, such as gb300-nvl72, or count nodes");
}

std::uint32_t units_of(const Goodput::Failure& failure, const Iteration& iteration) {
  switch (unit_of(failure)) {
    case Goodput::Unit::gpu:
      return iteration.gpus;
    case Goodput::Unit::node:
      break;
    case Goodput::Unit::rack:
      if (iteration.racks == 0) no_racks(failure.origin, "goodput.failures.per");
      return iteration.racks;
  }
  return iteration.nodes;
}

// Number of nodes that leave the job although they work, if `nodes` others in the same racks fail.
std::uint32_t drained_with(const Goodput& goodput, const Iteration& iteration,
                           std::uint32_t nodes) {
  if (goodput.replaces != Goodput::Unit::rack) return 0;
  if (iteration.racks == 0) no_racks({}, "goodput.replaces");
  const std::uint32_t racks = (nodes + iteration.rack_nodes - 1) / iteration.rack_nodes;
  return std::min(racks * iteration.rack_nodes, iteration.nodes) - nodes;
}

FailureKind kind_of(const Goodput& goodput, const Goodput::Failure& failure,
                    const Iteration& iteration) {
  const std::uint32_t units = units_of(failure, iteration);
  std::uint32_t nodes = 1;
  if (failure.kind == Goodput::Kind::software) nodes = 0;
  if (failure.kind == Goodput::Kind::rack) nodes = std::max(1U, iteration.rack_nodes);
  nodes = std::min(failure.nodes.value_or(nodes), iteration.nodes);
  return {.name = std::string(config::name_of(failure.kind)),
          .rate = failure.rate * units / thousand_days,
          .shape = failure.shape,
          .units = units,
          .nodes = nodes,
          .drained = drained_with(goodput, iteration, nodes),
          .detection = failure.detection.value_or(goodput.detection),
          .repair = failure.repair.value_or(goodput.repair)};
}

double share_of(const Goodput& goodput, std::uint32_t nodes) {
  const auto [trace_nodes, origin] = *goodput.trace_nodes;
  if (!goodput.trace)
    throw config::Error(origin, "goodput.trace_nodes needs goodput.failure_trace");
  if (nodes > trace_nodes)
    throw config::Error(origin, fmt::format("goodput.trace_nodes is {}, but the job has {} nodes",
                                            trace_nodes, nodes))
        .allow(fmt::format("{} or more", nodes));
  return static_cast<double>(nodes) / trace_nodes;
}

// Throws config::Error if the checkpoint interval is shorter than an iteration. The tolerance
// covers a time copied from output with four digits.
void check_interval(const config::Located<double>& interval, double minimum, std::string_view key,
                    std::string_view alternative) {
  constexpr double rounded = 1e-3;
  if (interval.value >= minimum * (1 - rounded)) return;
  throw config::Error(
      interval.origin,
      fmt::format("{} is {}, but a checkpoint is taken at the end of an iteration, which takes {}",
                  key, analysis::format_seconds(interval.value), analysis::format_seconds(minimum)),
      key)
      .allow(fmt::format("{} or longer{}", analysis::format_seconds(minimum), alternative));
}

// Throws config::Error if a run has too many incidents to simulate: with a rate that is wrong by
// powers of ten, the simulation would take days.
void check_incidents(const Goodput& goodput, const Setting& setting,
                     const std::vector<Goodput::Failure>& failures) {
  struct Source {
    std::string_view key;
    double rate;
    config::Origin origin;
  };
  std::vector<Source> sources{{"goodput.stragglers", setting.straggler_rate, {}},
                              {"goodput.corruption", setting.corruption_rate, {}},
                              {"goodput.planned", 1 / setting.planned_every, {}}};
  for (std::size_t i = 0; i < failures.size(); ++i)
    sources.push_back({"goodput.failures", setting.failures[i].rate, failures[i].origin});
  double rate = 0;
  for (const Source& source : sources) rate += source.rate;
  double seconds = setting.duration;
  if (setting.target < never) {
    const DalyModel model = daly_model(setting);
    seconds = setting.target;
    if (model.mean < never)
      seconds /= exact_ratio(model.interval, model.stall, model.restart, model.mean);
  }
  const double count = rate * seconds;
  if (count <= max_incidents) return;
  const Source& main_source = *std::ranges::max_element(sources, {}, &Source::rate);
  constexpr double countless = 1e15;
  throw config::Error(
      main_source.origin,
      fmt::format("{} causes {} incidents {}, one every {}", main_source.key,
                  count < countless ? analysis::format_scaled(count) : "countless",
                  setting.target < never
                      ? "until the tokens are trained"
                      : fmt::format("in the {:.4g} days of a seed", goodput.duration / 86400),
                  analysis::format_seconds(1 / rate)),
      main_source.key)
      .suggest(setting.target < never ? "lower the rate or train fewer tokens"
                                      : "lower the rate or shorten goodput.duration")
      .allow(fmt::format("at most {}", analysis::format_scaled(max_incidents)));
}

}  // namespace

config::Goodput::Unit unit_of(const Goodput::Failure& failure) {
  return failure.per.value_or(failure.kind == Goodput::Kind::rack ? Goodput::Unit::rack
                                                                  : Goodput::Unit::node);
}

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
    setting.failures.push_back(kind_of(goodput, failure, iteration));
  if (goodput.trace) setting.trace = read_failure_trace(goodput.trace->value, goodput, nodes);
  for (TracedFailure& failure : setting.trace)
    failure.kind.drained = drained_with(goodput, iteration, failure.kind.nodes);
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
        fmt::format("goodput.planned: {:g} stops per week of {:g} h each leave no time to train",
                    goodput.planned.a_week, goodput.planned.lasts / 3600));

  setting.mode = checkpoint.mode;
  setting.bytes = checkpoint.bytes ? static_cast<double>(*checkpoint.bytes) : iteration.state_bytes;
  if (setting.bytes <= 0)
    throw config::Error("the size of a checkpoint is unknown without a model or a map `state`")
        .suggest("set it (--set goodput.checkpoint.bytes='100 GB')");
  setting.storage = checkpoint.storage.value_or(storage_per_gpu * iteration.gpus);
  setting.read = checkpoint.read.value_or(setting.storage);
  setting.copy = setting.bytes / iteration.gpus / checkpoint.copy;
  if (iteration.limits_intervals) setting.min_interval = iteration.seconds;
  constexpr double default_peer_interval = 60;
  if (checkpoint.peer_interval)
    check_interval(*checkpoint.peer_interval, setting.min_interval,
                   "goodput.checkpoint.peer_interval", "");
  setting.peer_interval = checkpoint.peer_interval
                              ? checkpoint.peer_interval->value
                              : std::max(default_peer_interval, setting.min_interval);
  setting.peer = setting.bytes / nodes / checkpoint.peer;
  setting.network = checkpoint.network.value_or(0);
  setting.traffic = checkpoint.traffic.value_or(iteration.traffic_bytes / iteration.seconds);
  if (setting.network > 0 && setting.traffic > setting.network)
    throw config::Error(
        fmt::format("training sends {:.4g} GB/s, more than the {:.4g} GB/s of the network that it "
                    "shares with the "
                    "storage; goodput.checkpoint.network is the sum over all nodes",
                    setting.traffic / 1e9, setting.network / 1e9));
  setting.restart = goodput.restart;
  setting.repair = goodput.repair;
  setting.drained = drained_with(goodput, iteration, 1);
  setting.spares = goodput.spares;
  if (goodput.spares_are_racks) {
    if (iteration.racks == 0) no_racks({}, "goodput.spares");
    setting.spares = *goodput.spares * iteration.rack_nodes;
  }
  if (goodput.rest_is_spare) {
    if (iteration.cluster_nodes == 0)
      throw config::Error(
          "goodput.spares is rest, the nodes of the cluster that the job does not use, but there "
          "is no cluster")
          .suggest("give the cluster, or a number of nodes");
    setting.spares = iteration.cluster_nodes - nodes;
  }
  setting.elastic = goodput.elastic;
  if (checkpoint.interval)
    check_interval(*checkpoint.interval, setting.min_interval, "goodput.checkpoint.interval",
                   ", or auto");
  setting.interval = checkpoint.interval ? checkpoint.interval->value : best_by_formula(setting);
  check_incidents(goodput, setting, failures);
  return setting;
}

std::vector<std::string> notes_of(const Goodput& goodput, const Iteration& iteration) {
  std::vector<std::string> notes;
  const std::uint32_t nodes = iteration.nodes;
  const std::uint64_t spares = std::uint64_t{goodput.spares.value_or(0)} *
                               (goodput.spares_are_racks ? iteration.rack_nodes : 1);
  if (const std::uint32_t cluster_nodes = iteration.cluster_nodes;
      cluster_nodes > 0 && spares + nodes > cluster_nodes)
    notes.push_back(fmt::format(
        "goodput.spares is {}, but the cluster has {} and the job uses {}: {} nodes are "
        "simulated; --spares rest stays within the cluster",
        goodput.spares_are_racks ? analysis::counted(spares, "node") : fmt::format("{}", spares),
        analysis::counted(cluster_nodes, "node"), nodes, spares + nodes));
  const std::uint32_t exchanged = goodput.replaces == Goodput::Unit::rack && iteration.racks > 0
                                      ? 1 + drained_with(goodput, iteration, 1)
                                      : 1;
  // A job with fewer replicas may also gain from nodes that complete no rack.
  if (const std::uint64_t rest = spares % exchanged; rest > 0 && !goodput.elastic)
    notes.push_back(fmt::format(
        "goodput.spares is {}, and goodput.replaces is rack, which exchanges {} nodes at a time: "
        "{} {} no effect; give a multiple of {} nodes, or a number of racks, such as 1 rack",
        spares, exchanged, analysis::counted(rest, "spare node"), rest == 1 ? "has" : "have",
        exchanged));
  for (const Goodput::Failure& failure : goodput.failures)
    if (failure.nodes.value_or(0) > nodes)
      notes.push_back(config::locate(
          failure.origin,
          fmt::format(
              "goodput.failures.nodes is {}, but the job has {} nodes: each {} failure takes down "
              "all of them",
              *failure.nodes, nodes, config::name_of(failure.kind))));
  return notes;
}

double best_by_formula(const Setting& setting) {
  const double whole = std::min(setting.duration, setting.target);
  const double rate = interruption_rate(setting);
  if (rate <= 0) return std::max(whole, setting.min_interval);
  // Writes that overlap with training still run one after the other, so that the interval is at
  // least the time of a write.
  const double write = flow_seconds(setting, setting.storage);
  const double daly = daly_interval(daly_model(setting).storage_stall, 1 / rate);
  return std::max(setting.min_interval, std::min(whole, std::max(std::min(write, 1 / rate), daly)));
}

DalyModel daly_model(const Setting& setting) {
  const bool copies = setting.mode == Goodput::Mode::peer;
  DalyModel model{
      .interval = copies ? setting.peer_interval : setting.interval,
      .stall = stall(setting),
      .restart = setting.restart + (copies ? setting.peer : setting.bytes / setting.read)};
  // Storage is needed only in rare cases if peers hold copies in memory. It is written as often as
  // if training waited for each write.
  model.storage_stall = copies ? flow_seconds(setting, setting.storage) : model.stall;
  const double rate = interruption_rate(setting);
  if (rate <= 0) return model;
  model.mean = 1 / rate;
  for (const FailureKind& kind : setting.failures)
    model.restart += kind.detection * kind.rate / rate;
  return model;
}

}  // namespace pipewright::goodput
