// Measures the simulation of Llama 3 405B on 1,024 to 16,384 H100s in a three-level fat tree, with
// TP 8, PP 16 and 16 microbatches per replica. One variant simulates every replica, the other only
// one replica that represents all of them.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "analysis/report/summary.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/execution/run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace {

using namespace pipewright;

constexpr std::uint32_t tp = 8;
constexpr std::uint32_t pp = 16;
constexpr std::uint32_t microbatches = 16;

// A process can load only one platform, so smaller jobs use the first GPUs of the largest cluster.
std::filesystem::path cluster_file() {
  const auto file = std::filesystem::temp_directory_path() / "pipewright-bench-fat-tree.xml";
  std::ofstream(file) << cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-h100"), 2048}}, .fabric = "fat-tree"});
  return file;
}

config::Scenario scenario(std::uint32_t dp, bool symmetric) {
  static const std::filesystem::path file = cluster_file();
  return config::read_scenario(config::read_yaml_text(
      fmt::format("{{model: llama-3-405b, cluster: {}, microbatches: {}, symmetric: {}, "
                  "parallel: {{tp: {}, pp: {}, dp: {}, sequence: true}}, "
                  "training: {{recompute: full}}}}",
                  file.string(), microbatches, symmetric, tp, pp, dp),
      ""));
}

void run(benchmark::State& state, bool symmetric) {
  const auto dp = static_cast<std::uint32_t>(state.range(0)) / (tp * pp);
  const config::Scenario given = scenario(dp, symmetric);
  static evaluation::Hardware largest =
      evaluation::open_hardware(scenario(2048 * 8 / (tp * pp), false));
  evaluation::Hardware hardware{.cluster = largest.cluster,
                                .ranks = workload::Ranks(given.parallel),
                                .hosts = largest.hosts,
                                .gpus = largest.gpus};
  hardware.hosts.resize(hardware.ranks.size());
  workload::Plan plan = workload::make_plan(given, given.schedules.front(), hardware.gpus);
  const execution::Job job = evaluation::make_job(given, hardware, plan);
  for (auto _ : state) {
    analysis::SummarySink summary;
    execution::run(job, execution::EngineKind::simgrid, {}, summary);
    double makespan = summary.summary().makespan_s;
    benchmark::DoNotOptimize(makespan);
  }
  const double passes = 2.0 * dp * pp * microbatches;
  const double parts = static_cast<double>(plan.costs.traffic.front().parameters *
                                               given.communication.gradient_bytes /
                                               config::bucket_bytes(given.communication, dp) +
                                           1);
  // Counts a flow per lane and boundary tensor in both directions, and a flow per edge of each
  // ring.
  const double flows = dp * tp * (2.0 * microbatches * (pp - 1) + pp * parts);
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["passes/s"] = benchmark::Counter(passes, rate);
  state.counters["flows/s"] = benchmark::Counter(flows, rate);
}

void every_replica(benchmark::State& state) { run(state, false); }
void one_for_all(benchmark::State& state) { run(state, true); }

BENCHMARK(every_replica)
    ->ArgName("GPUs")
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(one_for_all)
    ->ArgName("GPUs")
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->Unit(benchmark::kMillisecond);

}  // namespace
