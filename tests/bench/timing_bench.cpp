// Compares the contention-free timing engine with a bare loop over the same dependencies: 1F1B of
// 64 devices, where F and B start at max(end of the device's previous pass, end of the upstream
// pass + hop).

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "schedules/families/catalog.hpp"
#include "schedules/timing.hpp"

namespace {

using namespace pipewright::schedules;

constexpr std::uint32_t devices = 64;

PassTimes times_of(const Schedule& schedule) {
  PassTimes times;
  times.of_stage[static_cast<int>(PassKind::forward)].assign(schedule.stages(), 1.0);
  times.of_stage[static_cast<int>(PassKind::backward)].assign(schedule.stages(), 2.0);
  return times;
}

void per_pass(benchmark::State& state, std::uint64_t passes) {
  state.counters["s/pass"] = benchmark::Counter(
      static_cast<double>(passes),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void timing_engine(benchmark::State& state, const char* name) {
  const Schedule schedule = make_schedule(
      name, {.devices = devices, .microbatches = static_cast<std::uint32_t>(state.range(0))});
  const PassTimes times = times_of(schedule);
  const HopTimes hops(0.1);
  for (auto _ : state) {
    double makespan = 0;
    Timing(schedule, times, hops, P2p::eager)
        .run([&](std::uint32_t, const Pass&, const PassSpan& span) {
          makespan = std::max(makespan, span.end);
        });
    benchmark::DoNotOptimize(makespan);
  }
  per_pass(state, schedule.size());
}

// Evaluates only that recurrence, in an order that is computed beforehand: for each microbatch the
// forward passes down the pipeline and the backward passes up, which respects all dependencies of
// 1F1B.
void bare_sweep(benchmark::State& state) {
  const auto m = static_cast<std::uint32_t>(state.range(0));
  struct Step {
    std::uint32_t device;
    std::int32_t input;   // index of the upstream end, -1: none
    std::int32_t output;  // index of this end
    double duration;
  };
  const Schedule schedule = make_schedule("1f1b", {.devices = devices, .microbatches = m});
  const PassTimes times = times_of(schedule);
  const HopTimes hops(0.1);
  std::vector<Step> steps;
  const auto slot = [&](PassKind kind, std::uint32_t stage, std::uint32_t k) {
    return static_cast<std::int32_t>(((kind == PassKind::forward ? 0 : devices) + stage) * m + k);
  };
  Timing(schedule, times, hops, P2p::eager)
      .run([&](std::uint32_t device, const Pass& pass, const PassSpan&) {
        const bool forward = pass.kind == PassKind::forward;
        std::int32_t input = -1;
        if (forward && pass.stage > 0) input = slot(pass.kind, pass.stage - 1U, pass.microbatch);
        if (!forward)
          input = pass.stage + 1U < devices ? slot(pass.kind, pass.stage + 1U, pass.microbatch)
                                            : slot(PassKind::forward, pass.stage, pass.microbatch);
        steps.push_back({device, input, slot(pass.kind, pass.stage, pass.microbatch), times(pass)});
      });
  for (auto _ : state) {
    std::vector<double> ends(std::size_t{2} * devices * m);
    std::vector<double> free(devices);
    for (const Step& step : steps) {
      const double ready = step.input < 0 ? 0 : ends[static_cast<std::size_t>(step.input)] + 0.1;
      const double end = std::max(free[step.device], ready) + step.duration;
      free[step.device] = ends[static_cast<std::size_t>(step.output)] = end;
    }
    benchmark::DoNotOptimize(ends.data());
  }
  per_pass(state, schedule.size());
}

BENCHMARK(bare_sweep)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timing_engine, 1f1b, "1f1b")->Arg(1024)->Arg(8192)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timing_engine, gpipe, "gpipe")->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timing_engine, interleaved, "interleaved-1f1b")
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);

}  // namespace
