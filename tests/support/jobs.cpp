#include "support/jobs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <simgrid/plugins/load.h>

#include "analysis/trace/sink.hpp"
#include "schedules/unshard.hpp"
#include "sim/execution/simgrid/mirror.hpp"
#include "support/runs.hpp"
#include "support/timed.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::tests {
namespace {

config::Parallel parallel_of(const schedules::Schedule& schedule, const Layout& layout) {
  using config::Axis;
  config::Parallel parallel;
  parallel.tp.value = layout.tp;
  parallel.cp.value = layout.cp;
  parallel.ep.value = layout.ep;
  parallel.dp.value = layout.dp;
  parallel.replicate = {layout.replicate, {}};
  if (layout.folded) {
    parallel.etp = config::Located<std::uint32_t>{1, {}};
    parallel.ep.value = layout.tp;
  }
  parallel.pp.value = schedule.devices;
  parallel.zero = layout.zero;
  if (!layout.replicas_together)
    parallel.order = {Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp};
  return parallel;
}

}  // namespace

HybridJob::HybridJob(schedules::Schedule job_schedule, const Layout& layout)
    : schedule(std::move(job_schedule)),
      ranks(parallel_of(schedule, layout)),
      costs(costs_of(schedule, uniform_times(schedule, 1, 1, 1))) {
  costs.times.of_stage[static_cast<std::size_t>(schedules::PassKind::recompute)] =
      costs.times.of_stage[static_cast<std::size_t>(schedules::PassKind::forward)];
  costs.traffic.resize(schedule.stages());
  costs.optimizer_seconds.assign(schedule.devices, 0);
  conditions.zero = layout.zero;
  communication().all_reduce = config::Algorithm::ring;
}

void HybridJob::set_parameters(std::uint64_t of_stage) {
  for (workload::StageTraffic& stage : costs.traffic) stage.parameters = of_stage;
}

void HybridJob::limit_unsharded_stages(const schedules::UnshardWindow& window) {
  conditions.zero = 1;
  conditions.reshards = false;
  communication().overlap_grad_reduce = false;
  if (schedules::most_stages(schedule.routes) > window.lookahead)
    conditions.unshard_windows.assign(schedule.devices, window);
}

void HybridJob::add_call(schedules::PassKind kind, const workload::Call& call) {
  for (workload::StageTraffic& stage : costs.traffic)
    stage.inside[static_cast<std::size_t>(kind)].push_back(call);
}

execution::Job HybridJob::job(const cluster::Cluster& cluster) const {
  return {.schedule = schedule,
          .costs = costs,
          .cluster = cluster,
          .hosts = cluster.place(placement, ranks.size()),
          .p2p = p2p,
          .ranks = ranks,
          .conditions = conditions,
          .symmetric = symmetric,
          .slowdown = slowdown};
}

trace::Trace HybridJob::run(const cluster::Cluster& cluster, execution::EngineKind engine) const {
  trace::TraceCollector collector;
  execution::run(job(cluster), engine, {}, collector);
  return std::move(collector.trace);
}

cluster::Cluster mesh_cluster(std::uint32_t gpus) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='mesh' routing='Full'>\n";
  const auto each_pair = [&](const auto& element) {
    for (std::uint32_t a = 0; a < gpus; ++a)
      for (std::uint32_t b = 0; b < gpus; ++b)
        if (a != b) text += element(a, b);
  };
  for (std::uint32_t a = 0; a < gpus; ++a)
    text += fmt::format("<host id='gpu-{}' speed='1Gf'/>", a);
  each_pair([](auto a, auto b) {
    return fmt::format("<link id='{}-to-{}' bandwidth='1GBps' latency='0.25ms'/>\n", a, b);
  });
  each_pair([](auto a, auto b) {
    return fmt::format(
        "<route src='gpu-{0}' dst='gpu-{1}' symmetrical='NO'><link_ctn id='{0}-to-{1}'/></route>\n",
        a, b);
  });
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write("mesh.xml", text + "</zone></platform>\n"));
}

void watch_links() {
  cluster::engine();
  sg_link_load_plugin_init();
}

std::map<std::string, double> link_bytes(const HybridJob& job, const cluster::Cluster& cluster) {
  const auto links = cluster.links();
  execution::Mirror& mirror = execution::begin_mirror(cluster);
  for (const cluster::Link* link : links) sg_link_load_track(mirror.link(link));
  job.run(cluster);
  std::map<std::string, double> bytes;
  for (const cluster::Link* link : links) {
    bytes[cluster::Cluster::link_name(link)] =
        sg_link_get_cum_load(mirror.link(link)) * mirror.divisor(link);
    sg_link_load_untrack(mirror.link(link));
  }
  return bytes;
}

double last_end(const trace::Trace& trace) {
  double end = 0;
  for (const trace::StepRow& row : trace.steps) end = std::max(end, row.end);
  return end;
}

std::vector<trace::CollectiveRow> collectives(const trace::Trace& trace, std::uint32_t device,
                                              trace::CollectiveKind kind) {
  std::vector<trace::CollectiveRow> rows;
  for (const trace::CollectiveRow& row : trace.collectives)
    if (row.device == device && row.kind == kind) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, &trace::CollectiveRow::end);
  return rows;
}

const trace::StepRow& step_of(const trace::Trace& trace, std::uint32_t device,
                              std::uint32_t iteration) {
  const auto row = std::ranges::find_if(trace.steps, [&](const trace::StepRow& step) {
    return step.device == device && step.iteration == iteration;
  });
  if (row == trace.steps.end()) throw std::logic_error("a device without an optimizer's step");
  return *row;
}

}  // namespace pipewright::tests
