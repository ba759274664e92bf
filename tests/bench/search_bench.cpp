// Measures what a search does before it simulates: memory and time bounds of all layouts of GPT-3
// 175B on 1,024 A100s, and the time for the bound of a schedule compared with that of the timing
// engine for the same schedule.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "schedules/timing.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/execution/timing/engine.hpp"
#include "sim/workload/plan/planner.hpp"

namespace {

using namespace pipewright;

constexpr std::uint32_t gpus = 1024;
constexpr std::uint32_t batch = 1536;

std::filesystem::path cluster_file() {
  const auto file = std::filesystem::temp_directory_path() / "pipewright-bench-1024-a100.xml";
  std::ofstream(file) << cluster::make_platform(
      {.nodes = {{&cluster::find_node_kind("dgx-a100"), gpus / 8}}});
  return file;
}

std::vector<std::string> all_schedules() {
  std::vector<std::string> schedules;
  for (const schedules::Entry& entry : schedules::catalog()) schedules.emplace_back(entry.name);
  return schedules;
}

config::Value layout(std::uint32_t tp, std::uint32_t pp, std::uint32_t microbatch,
                     const std::string& recompute, std::uint32_t zero,
                     const std::vector<std::string>& schedules) {
  static const std::filesystem::path file = cluster_file();
  return config::read_yaml_text(
      fmt::format("{{model: gpt3-175b, cluster: {}, global_batch: {}, schedule: [{}], parallel: "
                  "{{tp: {}, pp: {}, dp: {}, sequence: true, zero: {}}}, "
                  "training: {{recompute: {}, microbatch_size: {}}}}}",
                  file.string(), batch, fmt::join(schedules, ", "), tp, pp, gpus / tp / pp, zero,
                  recompute, microbatch),
      "bench");
}

// Lists layouts, which are more than 10,000 candidates together with all schedules of the catalog.
std::vector<config::Value> layouts() {
  std::vector<config::Value> all;
  for (const std::uint32_t tp : {1U, 2U, 4U, 8U, 16U})
    for (const std::uint32_t pp : {1U, 2U, 4U, 8U, 12U, 16U, 24U, 32U, 48U, 64U, 96U})
      for (const std::uint32_t microbatch : {1U, 2U, 3U, 4U, 8U})
        for (const char* recompute : {"none", "selective", "full"})
          for (const std::uint32_t zero : {0U, 1U}) {
            const std::uint32_t dp = gpus / tp / pp;
            if (dp == 0 || tp * pp * dp != gpus || batch % (dp * microbatch) != 0) continue;
            all.push_back(layout(tp, pp, microbatch, recompute, zero, all_schedules()));
          }
  return all;
}

evaluation::Evaluator& evaluator() {
  static evaluation::Evaluator one(config::read_scenario(layout(8, 8, 1, "none", 0, {"1f1b"})), 0);
  return one;
}

// Returns the CPU time of this process, which other processes on the machine do not affect.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double makespan_by_timing(const schedules::Schedule& schedule, const schedules::PassTimes& times) {
  const schedules::HopTimes hops(1e-4);
  double makespan = 0;
  schedules::Timing(schedule, times, hops, schedules::P2p::eager)
      .run([&](std::uint32_t, const schedules::Pass&, const schedules::PassSpan& span) {
        makespan = std::max(makespan, span.end);
      });
  return makespan;
}

// Returns how long the timing engine takes for the passes of all candidates that fit into memory,
// in seconds of this computer.
double seconds_of_timing(const config::Value& tree, const std::vector<analysis::CandidateRow>& rows,
                         workload::ScheduleCache& cache) {
  if (std::ranges::none_of(rows, [](const auto& row) { return row.bound_s > 0; })) return 0;
  const config::Scenario scenario = config::read_scenario(tree);
  const workload::Gpus on(scenario.devices.value, config::find_gpu("a100-80gb"));
  workload::Planner planner(scenario, on, {}, &cache);
  double seconds = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].bound_s <= 0) continue;
    const auto schedule = planner.schedule(scenario.schedules[i]);
    const workload::StageCosts& costs = planner.costs(*schedule);
    const double start = cpu_seconds();
    benchmark::DoNotOptimize(makespan_by_timing(*schedule, costs.times));
    seconds += cpu_seconds() - start;
  }
  return seconds;
}

void assess(benchmark::State& state) {
  const std::vector<config::Value> all = layouts();
  evaluator();  // the cluster's file is not what is measured
  workload::ScheduleCache cache;
  std::size_t candidates = 0;
  std::size_t fitting = 0;
  double whole = 0;
  double timing = 0;
  for (auto _ : state)
    for (const config::Value& one : all) {
      const double start = cpu_seconds();
      const std::vector<analysis::CandidateRow> rows =
          evaluator().assess(one, static_cast<analysis::Basis>(state.range(0)));
      whole += cpu_seconds() - start;
      candidates += rows.size();
      for (const analysis::CandidateRow& row : rows) fitting += row.bound_s > 0 ? 1 : 0;
      if (state.range(0) == 0) timing += seconds_of_timing(one, rows, cache);
    }
  state.counters["candidates"] = static_cast<double>(candidates);
  state.counters["fitting"] = static_cast<double>(fitting);
  state.counters["candidates/s"] = static_cast<double>(candidates) / whole;
  state.counters["in_timing_%"] = 100 * timing / whole;
}
// Bounds have three levels: from the times of passes alone, with the network, and with the order of
// passes.
BENCHMARK(assess)
    ->ArgName("basis")
    ->Arg(static_cast<int>(analysis::Basis::passes))
    ->Arg(static_cast<int>(analysis::Basis::network))
    ->Arg(static_cast<int>(analysis::Basis::order))
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

// A job of 16 devices and 192 microbatches, planned once: inputs of a bound and of the timing
// engine.
struct Bounded {
  explicit Bounded(const std::string& schedule)
      : scenario(config::read_scenario(config::read_yaml_text(
            fmt::format("{{model: gpt3-175b, gpu: a100-80gb, p2p_time: 0.1 ms, schedule: {}, "
                        "global_batch: {}, parallel: {{tp: 8, pp: 16, dp: 8, zero: 1}}}}",
                        schedule, batch),
            "bench"))),
        hardware(evaluation::open_hardware(scenario)),
        plan(workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus)),
        job(evaluation::plain_job(scenario, hardware, plan.schedule, plan.costs)),
        least(job) {}

  config::Scenario scenario;
  evaluation::Hardware hardware;
  workload::Plan plan;
  execution::Job job;
  execution::LeastTimes least;
};

void timing_alone(benchmark::State& state, const char* schedule) {
  evaluator();  // a platform comes before ideal networks
  const Bounded one(schedule);
  for (auto _ : state)
    benchmark::DoNotOptimize(makespan_by_timing(one.plan.schedule, one.plan.costs.times));
}
void bound(benchmark::State& state, const char* schedule) {
  evaluator();
  Bounded one(schedule);
  for (auto _ : state) benchmark::DoNotOptimize(execution::lower_bound(one.job, one.least));
}
BENCHMARK_CAPTURE(timing_alone, 1f1b, "1f1b")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bound, 1f1b, "1f1b")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timing_alone, v_half, "v-half")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bound, v_half, "v-half")->Unit(benchmark::kMicrosecond);

}  // namespace
