// Measures how long it takes to generate and time every schedule of the catalog, and to search for
// a schedule. Limits: 20 ms for 32 devices with 512 microbatches, 1 s for 64 with 4,096, and 1 s
// for a search of V-shaped schedules for 32 with 256.

#include <string>

#include <benchmark/benchmark.h>

#include "schedules/families/catalog.hpp"
#include "schedules/search/search.hpp"
#include "schedules/timing.hpp"
#include "support/pipelines.hpp"
#include "support/timed.hpp"

namespace {

using namespace pipewright;

void generate_and_time(benchmark::State& state, const schedules::Entry& entry) {
  const schedules::Parameters parameters{
      .devices = static_cast<std::uint32_t>(state.range(0)),
      .microbatches = static_cast<std::uint32_t>(state.range(1))};
  double passes = 0;
  for (auto _ : state) {
    const schedules::Schedule schedule = schedules::make_schedule(entry.name, parameters);
    const auto times = tests::uniform_times(schedule, 1, 1, 1);
    const schedules::HopTimes hops(0.1);
    double makespan = 0;
    schedules::Timing(schedule, times, hops, schedules::P2p::eager)
        .run([&](std::uint32_t, const schedules::Pass&, const schedules::PassSpan& span) {
          makespan = std::max(makespan, span.end);
        });
    benchmark::DoNotOptimize(makespan);
    passes = static_cast<double>(schedule.size());
  }
  state.counters["limit_ms"] = state.range(0) == 32 ? 20 : 1000;
  state.counters["s/pass"] = benchmark::Counter(
      passes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void search_v_shape(benchmark::State& state) {
  const double memory = static_cast<double>(state.range(0));
  for (auto _ : state) {
    const auto found = schedules::search(
        {.devices = 32,
         .microbatches = 256,
         .pipeline =
             [&](const schedules::Routes& routes) {
               return std::optional(tests::pipeline(routes, 32, 256, {1, 1, 1}, 0, memory));
             }},
        [](const schedules::SearchProgress&) { return true; });
    state.counters["gap"] = found.makespan / found.lower_bound - 1;
  }
  state.counters["limit_ms"] = 1000;
}

[[maybe_unused]] const bool registered = [] {
  for (const schedules::Entry& entry : schedules::catalog())
    benchmark::RegisterBenchmark(
        ("generate_and_time/" + std::string(entry.name)).c_str(),
        [&entry](benchmark::State& state) { generate_and_time(state, entry); })
        ->Args({32, 512})
        ->Args({64, 4096})
        ->Unit(benchmark::kMillisecond);
  return true;
}();

BENCHMARK(search_v_shape)->Arg(12)->Arg(16)->Arg(24)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
