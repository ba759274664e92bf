// Measures simulated collectives over 256 GPUs, as `comm bench` runs them: a sweep of sizes on a
// ring, and an all-to-all in which equivalent flows are simulated as one. The baseline simulates
// every flow in SimGrid.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <benchmark/benchmark.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/comm/bench.hpp"
#include "sim/execution/simgrid/carry.hpp"
#include "sim/execution/simgrid/mirror.hpp"

namespace {

using namespace pipewright;
using analysis::Operation;

cluster::Cluster& cluster_of_256() {
  static cluster::Cluster loaded = [] {
    const auto file = std::filesystem::temp_directory_path() / "pipewright-bench-comm.xml";
    std::ofstream(file) << cluster::make_platform(
        {.nodes = {{&cluster::find_node_kind("dgx-a100"), 32}}});
    return cluster::Cluster::load(file);
  }();
  return loaded;
}

comm::BenchmarkRun benchmark_run(Operation operation, std::uint32_t ranks,
                                 config::Algorithm algorithm) {
  return comm::make_single_group(cluster_of_256(), operation, ranks, 0, algorithm);
}

void ring_sweep(benchmark::State& state) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{8} << 30U; bytes *= 2)
    sizes.push_back(bytes);
  const comm::BenchmarkRun ring =
      benchmark_run(Operation::all_reduce, 256, config::Algorithm::ring);
  for (auto _ : state)
    benchmark::DoNotOptimize(comm::bench(cluster_of_256(), ring, sizes).back().seconds);
  state.counters["sizes"] = static_cast<double>(sizes.size());
}
BENCHMARK(ring_sweep)->Unit(benchmark::kMillisecond);

void count_flows(benchmark::State& state, double ranks) {
  state.counters["flows"] = ranks * (ranks - 1);
  state.counters["time_per_flow"] =
      benchmark::Counter(ranks * (ranks - 1), benchmark::Counter::kIsIterationInvariantRate |
                                                  benchmark::Counter::kInvert);
}

void all_to_all(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const comm::BenchmarkRun all =
      benchmark_run(Operation::all_to_all, ranks, config::Algorithm::automatic);
  for (auto _ : state)
    benchmark::DoNotOptimize(comm::simulate(cluster_of_256(), all, 1U << 30U).seconds);
  count_flows(state, ranks);
}
BENCHMARK(all_to_all)->Arg(32)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

// Simulates each flow of an all-to-all as a SimGrid activity of its own, as the baseline.
void all_to_all_flow_by_flow(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const comm::BenchmarkRun all =
      benchmark_run(Operation::all_to_all, ranks, config::Algorithm::automatic);
  const auto transfer_plan = execution::make_transfer_plan(
      execution::plan(workload::Collective::all_to_all, 1U << 30U, all.groups.front(),
                      config::Algorithm::automatic, all.placement),
      all.placement);
  execution::begin_mirror(cluster_of_256());
  for (auto _ : state) {
    execution::start(transfer_plan, [] {});
    cluster::engine().run();
  }
  count_flows(state, ranks);
}
BENCHMARK(all_to_all_flow_by_flow)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
