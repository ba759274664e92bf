// Measures jobs that run at once, as `run --together` simulates one phase of them: equal jobs that
// all use the same trunk. Shows what an additional job costs.

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "analysis/report/summary.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/sharing/joint_run.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"

namespace {

using namespace pipewright;

// Writes the platform file of 16 nodes of eight GPUs, two nodes per leaf. Trunks have a quarter of
// the bandwidth below them.
std::string cluster_file() {
  static const std::string file = [] {
    const auto path = std::filesystem::temp_directory_path() / "pipewright-bench-together.xml";
    std::ofstream(path) << cluster::make_platform(
        {.nodes = {{&cluster::find_node_kind("dgx-h100"), 16}},
         .fabric = "leaf-spine",
         .oversubscription = 4,
         .leaf_nodes = 2});
    return path.string();
  }();
  return file;
}

evaluation::NamedTree job(std::size_t number, const char* parallel) {
  return {fmt::format("job-{}", number),
          config::read_yaml_text(fmt::format("{{cluster: {}, model: llama-3-8b, schedule: 1f1b, "
                                             "global_batch: 64, parallel: {{{}}}, "
                                             "training: {{sequence: 2048, recompute: full}}}}",
                                             cluster_file(), parallel),
                                 "bench.yaml")};
}

// Simulates one phase with three iterations per job, in a child process, as a sweep of phases does.
void one_phase(benchmark::State& state, const char* parallel) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<evaluation::NamedTree> jobs;
  for (std::size_t i = 0; i < count; ++i) jobs.push_back(job(i, parallel));
  const evaluation::JointRun run(std::move(jobs), evaluation::Placing::interleaved);
  execution::get_ready(run.cluster());
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);
  for (auto _ : state) {
    const process::Result result = process::run([&] {
      std::deque<analysis::SummarySink> rows(count);
      std::vector<trace::Sink*> sinks;
      for (auto& one : rows) sinks.push_back(&one);
      return std::to_string(run.run(all, std::vector<double>(count), sinks, 3).window);
    });
    if (result.failed) state.SkipWithError(result.text.c_str());
  }
  state.counters["GPUs"] = static_cast<double>(count * run.job(0).hardware.hosts.size());
}
BENCHMARK_CAPTURE(one_phase, sharded_weights, "dp: 32, zero: 3")
    ->DenseRange(1, 4)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(one_phase, pipeline, "tp: 4, pp: 2, dp: 4, sp: true, zero: 1")
    ->DenseRange(1, 4)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
