// Measures goodput simulations: a month on 16,384 GPUs with 1000 seeds, with the failure rate that
// Meta reports for Llama 3 and synchronous checkpoints of 5.2 TiB.

#include <thread>

#include <benchmark/benchmark.h>

#include "sim/config/goodput.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/runs.hpp"

namespace {

using namespace pipewright;

void month(benchmark::State& state, config::Goodput::Mode mode) {
  config::Goodput job{.failures = config::published_failures("llama-3")};
  job.checkpoint.mode = mode;
  job.checkpoint.storage = 2e12;
  const goodput::Iteration iteration{
      .seconds = 5, .gpus = 16384, .nodes = 2048, .state_bytes = 14 * 405.85e9};
  config::Parallel parallel;
  parallel.dp.value = 128;
  const goodput::Setting setting = goodput::make_setting(job, parallel, iteration);
  double ratio = 0;
  for (auto _ : state) {
    const auto found = goodput::run({{"month", setting, 1000}},
                                    {.jobs = std::max(1U, std::thread::hardware_concurrency())});
    ratio = 0;
    for (const analysis::GoodputOutcome& one : found.front()) ratio += one.ratio() / 1000;
  }
  state.counters["effective_%"] = 100 * ratio;
  state.counters["Daly_%"] =
      100 * goodput::exact_ratio(setting.interval, goodput::stall(setting),
                                 setting.restart + goodput::flow_seconds(setting, setting.read),
                                 1 / goodput::interruption_rate(setting));
}

}  // namespace

BENCHMARK_CAPTURE(month, sync, config::Goodput::Mode::sync)
    ->Unit(benchmark::kSecond)
    ->UseRealTime()
    ->Iterations(1);
BENCHMARK_CAPTURE(month, async, config::Goodput::Mode::async)
    ->Unit(benchmark::kSecond)
    ->UseRealTime()
    ->Iterations(1);
BENCHMARK_CAPTURE(month, peer, config::Goodput::Mode::peer)
    ->Unit(benchmark::kSecond)
    ->UseRealTime()
    ->Iterations(1);
