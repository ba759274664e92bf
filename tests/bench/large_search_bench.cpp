// Measures a search of a mixture of 2.1 trillion parameters on 65,536 H100s with two workers: the
// seconds until a first layout is simulated, and the gap that is proven within the budget. Worker
// processes need CPU time that other programs may take, so that the CPU time is reported, too.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/search.hpp"
#include "sim/sweep/space.hpp"
#include "support/forked_workers.hpp"

namespace {

using namespace pipewright;

constexpr std::uint32_t nodes = 8192;
constexpr std::uint32_t gpus_per_node = 8;

std::filesystem::path cluster_file() {
  const auto file = std::filesystem::temp_directory_path() / "pipewright-bench-65536-h100.xml";
  std::ofstream(file) << cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-h100"), nodes}}});
  return file;
}

// The sweep of tests/bench/sweeps, on the cluster in `file`.
search::Space space_on(const std::filesystem::path& file) {
  config::Value sweep = config::read_yaml_file(PIPEWRIGHT_LARGE_SWEEP);
  sweep.entries.push_back({"cluster", {}, config::make_text(file.string(), {})});
  return {search::read_sweep(sweep),
          {{file.string(), nodes * gpus_per_node, gpus_per_node, "h100-sxm",
            std::uint64_t{80} << 30U}}};
}

double children_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * double(usage.ru_utime.tv_usec);
}

void large_search(benchmark::State& state) {
  constexpr std::size_t worker_count = 2;
  const std::filesystem::path file = cluster_file();
  const search::Space space = space_on(file);
  const auto budget_s = static_cast<double>(state.range(0));
  for (auto _ : state) {
    const double cpu_before = children_cpu_seconds();
    const auto began = std::chrono::steady_clock::now();
    std::optional<double> first_s;
    search::State last;
    {
      tests::ForkedWorkers workers(space, worker_count);
      search::run_search(
          space, workers,
          {.facts = {},
           .results = {},
           .target = {.exhaustive = false, .front = false},
           .budget_s = budget_s},
          {.progress =
               [&](const search::State& now, const auto&) {
                 last = now;
                 if (now.best && !first_s)
                   first_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
                                 .count();
               },
           .interrupted = {}});
    }
    state.counters["gap_%"] = 100 * last.gap;
    state.counters["first_s"] = first_s.value_or(0);
    state.counters["assessed"] = static_cast<double>(last.assessed);
    state.counters["workers_cpu_s"] = children_cpu_seconds() - cpu_before;
  }
  std::filesystem::remove(file);
}
BENCHMARK(large_search)->ArgName("budget_s")->Arg(180)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
