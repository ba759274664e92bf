// Measures the simulation of Llama 3 405B with TP 8, PP 16 and 16 microbatches per replica: on
// H100s in a three-level fat tree without oversubscription, and on racks of 72 GB200 under leaves
// with 2:1 oversubscription, where the devices of most numbers of replicas begin in the middle of a
// rack.
//
//   every_replica  simulates all replicas
//   alike          simulates one replica of each kind of replicas that are alike at all times
//   symmetric      simulates one replica of each kind by messages alone
//
// The targets are 60 CPU s for 65,536 GPUs with the default settings, and 20 s for racks.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

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

struct Fabric {
  const char* node;
  std::uint32_t nodes;
  const char* fabric;
  double oversubscription;
  std::uint32_t largest_dp;
};
constexpr Fabric fat_tree{"dgx-h100", 8192, "fat-tree", 1, 512};
constexpr Fabric racks{"gb200-nvl72", 1389, "leaf-spine", 2, 781};

std::filesystem::path cluster_file(const Fabric& fabric) {
  const auto file = std::filesystem::temp_directory_path() /
                    fmt::format("pipewright-bench-{}.xml", fabric.fabric);
  std::ofstream(file) << cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind(fabric.node), fabric.nodes}},
       .fabric = fabric.fabric,
       .oversubscription = fabric.oversubscription});
  return file;
}

config::Scenario scenario(const std::string& file, std::uint32_t dp, bool symmetric) {
  return config::read_scenario(config::read_yaml_text(
      fmt::format("{{model: llama-3-405b, cluster: {}, microbatches: {}, symmetric: {}, "
                  "parallel: {{tp: {}, pp: {}, dp: {}, sequence: true, zero: 1}}, "
                  "partition: ends_less, schedule: {{name: interleaved-1f1b, chunks: 8}}, "
                  "training: {{recompute: full}}}}",
                  file, microbatches, symmetric, tp, pp, dp),
      ""));
}

// A cluster with the GPUs of the largest job; smaller jobs use the first of them.
struct Largest {
  explicit Largest(const Fabric& fabric)
      : file(cluster_file(fabric).string()),
        hardware(evaluation::open_hardware(scenario(file, fabric.largest_dp, false))) {}
  std::string file;
  evaluation::Hardware hardware;
};

const Largest& largest(const Fabric& fabric) {
  static std::map<const char*, Largest> by_name;
  return by_name.try_emplace(fabric.fabric, fabric).first->second;
}

enum class Replicas : std::uint8_t { every, alike, symmetric };

void run(benchmark::State& state, const Fabric& fabric, Replicas replicas) {
  const auto dp = static_cast<std::uint32_t>(state.range(0)) / (tp * pp);
  const Largest& cluster = largest(fabric);
  const config::Scenario given = scenario(cluster.file, dp, replicas == Replicas::symmetric);
  evaluation::Hardware hardware{.cluster = cluster.hardware.cluster,
                                .ranks = workload::Ranks(given.parallel),
                                .hosts = cluster.hardware.hosts,
                                .gpus = cluster.hardware.gpus};
  hardware.hosts.resize(hardware.ranks.size());
  workload::Plan plan = workload::make_plan(given, given.schedules.front(), hardware.gpus);
  execution::Job job = evaluation::make_job(given, hardware, plan);
  if (replicas == Replicas::every) job.reduce_from = std::numeric_limits<std::size_t>::max();
  execution::Reduction reduction;
  for (auto _ : state) {
    analysis::SummarySink summary;
    reduction = execution::run(job, execution::EngineKind::simgrid, {}, summary);
    double makespan = summary.summary().makespan_s;
    benchmark::DoNotOptimize(makespan);
  }
  const double passes = 2.0 * dp * static_cast<double>(plan.schedule.stages()) * microbatches;
  state.counters["passes/s"] =
      benchmark::Counter(passes, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["simulated"] = reduction.simulated;
}

BENCHMARK_CAPTURE(run, fat_tree_every_replica, fat_tree, Replicas::every)
    ->ArgName("GPUs")
    ->Arg(4096)
    ->Arg(16384)
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, fat_tree_alike, fat_tree, Replicas::alike)
    ->ArgName("GPUs")
    ->Arg(4096)
    ->Arg(16384)
    ->Arg(64000)  // devices begin in the middle of a leaf
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run, racks_symmetric, racks, Replicas::symmetric)
    ->ArgName("GPUs")
    ->Arg(8192)
    ->Arg(65536)
    ->Arg(88064)
    ->Arg(99968)
    ->Unit(benchmark::kMillisecond);

}  // namespace
