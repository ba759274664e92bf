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

// An iteration's time is shown in four digits, which may be less than it is.
void check_interval(const config::Located<double>& given, double least, std::string_view key,
                    std::string_view or_else) {
  constexpr double rounded = 1e-3;
  if (given.value >= least * (1 - rounded)) return;
  throw config::Error(
      given.origin,
      fmt::format("{0} is {1}, and an iteration takes {2}, at whose end a checkpoint is; "
                  "allowed: {2} or longer{3}",
                  key, analysis::format_seconds(given.value), analysis::format_seconds(least),
                  or_else),
      key);
}

// Without this a rate that is too high by some powers of ten would be simulated for days.
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
  if (count <= most_incidents) return;
  const Source& most = *std::ranges::max_element(sources, {}, &Source::rate);
  constexpr double countless = 1e15;
  throw config::Error(
      most.origin,
      fmt::format("{} comes to {} incidents {}, one every {}; allowed: {} at most, with a lower "
                  "rate{}",
                  most.key, count < countless ? analysis::format_scaled(count) : "countless",
                  setting.target < never
                      ? "until the tokens are trained"
                      : fmt::format("in the {:.4g} days of a seed", goodput.duration / 86400),
                  analysis::format_seconds(1 / rate), analysis::format_scaled(most_incidents),
                  setting.target < never ? " or fewer tokens" : " or a shorter goodput.duration"),
      most.key);
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
  if (iteration.limits_intervals) setting.least_interval = iteration.seconds;
  constexpr double usual_copies = 60;
  if (checkpoint.peer_interval)
    check_interval(*checkpoint.peer_interval, setting.least_interval,
                   "goodput.checkpoint.peer_interval", "");
  setting.peer_interval = checkpoint.peer_interval ? checkpoint.peer_interval->value
                                                   : std::max(usual_copies, setting.least_interval);
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
  if (checkpoint.interval)
    check_interval(*checkpoint.interval, setting.least_interval, "goodput.checkpoint.interval",
                   ", or auto");
  setting.interval = checkpoint.interval ? checkpoint.interval->value : best_by_formula(setting);
  check_incidents(goodput, setting, failures);
  return setting;
}

std::vector<std::string> notes_of(const Goodput& goodput, const Iteration& iteration) {
  std::vector<std::string> notes;
  const std::uint32_t nodes = iteration.nodes;
  if (const std::uint32_t all = iteration.cluster_nodes;
      all > 0 && goodput.spares.value_or(0) + std::uint64_t{nodes} > all)
    notes.push_back(
        fmt::format("goodput.spares is {}, and the cluster has {}, of which the job takes {}: what "
                    "is simulated has {}; rest (--spares rest) is what it leaves",
                    *goodput.spares, analysis::counted(all, "node"), nodes,
                    *goodput.spares + std::uint64_t{nodes}));
  for (const Goodput::Failure& failure : goodput.failures)
    if (failure.nodes.value_or(0) > nodes)
      notes.push_back(config::locate(
          failure.origin,
          fmt::format("goodput.failures.nodes is {}, and the job has {}: each failure of {} takes "
                      "all of them",
                      *failure.nodes, nodes, config::name_of(failure.kind))));
  return notes;
}

double best_by_formula(const Setting& setting) {
  const double whole = std::min(setting.duration, setting.target);
  const double rate = stops(setting);
  if (rate <= 0) return std::max(whole, setting.least_interval);
  // What goes to the storage beside training still takes as long, one after the other.
  const double write = flow_seconds(setting, setting.storage);
  const double daly = daly_interval(daly_model(setting).storage_stall, 1 / rate);
  return std::max(setting.least_interval,
                  std::min(whole, std::max(std::min(write, 1 / rate), daly)));
}

DalyModel daly_model(const Setting& setting) {
  const bool copies = setting.mode == Goodput::Mode::peer;
  DalyModel model{
      .interval = copies ? setting.peer_interval : setting.interval,
      .stall = stall(setting),
      .restart = setting.restart + (copies ? setting.peer : setting.bytes / setting.read)};
  // Beside copies in peers' memory the storage is for rare cases, and written to as often as if
  // training waited for it.
  model.storage_stall = copies ? flow_seconds(setting, setting.storage) : model.stall;
  const double rate = stops(setting);
  if (rate <= 0) return model;
  model.mean = 1 / rate;
  for (const FailureKind& kind : setting.failures)
    model.restart += kind.detection * kind.rate / rate;
  return model;
}

}  // namespace pipewright::goodput
