// Compares the SimGrid engine, with and without a trace, with a bare SimGrid program that has the
// same sleeps and messages: 1F1B of 32 devices and 512 microbatches on four DGX A100.

#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "analysis/report/summary.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/simgrid/mirror.hpp"

namespace {

using namespace pipewright;
namespace sg4 = cluster::sg4;

constexpr std::uint32_t devices = 32;
constexpr std::uint32_t microbatches = 512;
constexpr double forward = 0.030;
constexpr double backward = 0.049;
constexpr std::uint64_t boundary = 24ULL << 20U;

const cluster::Cluster& dgx() {
  static const cluster::Cluster loaded = cluster::Cluster::load(PIPEWRIGHT_CLUSTER);
  return loaded;
}

struct Setup {
  schedules::Schedule schedule =
      schedules::make_schedule("1f1b", {.devices = devices, .microbatches = microbatches});
  workload::StageCosts costs;
  std::vector<cluster::Host*> hosts = dgx().place({}, devices);

  Setup() {
    const auto set = [&](schedules::PassKind kind, double seconds) {
      costs.times.of_stage[static_cast<int>(kind)].assign(devices, seconds);
    };
    set(schedules::PassKind::forward, forward);
    set(schedules::PassKind::backward, backward);
    costs.boundary_bytes = boundary;
    costs.activations.assign(devices, {.held = 1ULL << 30U});
    costs.state.resize(devices);
  }
  execution::Job job() const {
    return {.schedule = schedule, .costs = costs, .cluster = dgx(), .hosts = hosts};
  }
};

void count(benchmark::State& state) {
  const double passes = 2.0 * devices * microbatches;
  state.counters["passes/s"] =
      benchmark::Counter(passes, benchmark::Counter::kIsIterationInvariantRate);
}

// Actor of one 1F1B device, as a user of SimGrid would write it by hand, without this project.
void bare_device(std::uint32_t index, const std::vector<sg4::Mailbox*>& down,
                 const std::vector<sg4::Mailbox*>& up) {
  const auto run_forward = [&] {
    if (index > 0) down[index]->get<void>();
    sg4::this_actor::sleep_for(forward);
    if (index + 1 < devices) down[index + 1]->put_init(down[index], boundary)->detach();
  };
  const auto run_backward = [&] {
    if (index + 1 < devices) up[index]->get<void>();
    sg4::this_actor::sleep_for(backward);
    if (index > 0) up[index - 1]->put_init(up[index], boundary)->detach();
  };
  const std::uint32_t warmup = std::min(devices - 1 - index, microbatches);
  for (std::uint32_t k = 0; k < warmup; ++k) run_forward();
  for (std::uint32_t k = warmup; k < microbatches; ++k) {
    run_forward();
    run_backward();
  }
  for (std::uint32_t k = 0; k < warmup; ++k) run_backward();
}

void bare_simgrid(benchmark::State& state) {
  const Setup setup;
  execution::Mirror& mirror = execution::begin_mirror(dgx());
  std::vector<sg4::Mailbox*> down;
  std::vector<sg4::Mailbox*> up;
  for (std::uint32_t index = 0; index < devices; ++index) {
    down.push_back(sg4::Mailbox::by_name("bare-down-" + std::to_string(index)));
    up.push_back(sg4::Mailbox::by_name("bare-up-" + std::to_string(index)));
  }
  for (auto _ : state) {
    for (std::uint32_t index = 0; index < devices; ++index) {
      const sg4::ActorPtr actor =
          cluster::add_actor(mirror.host(setup.hosts[index]), "bare-" + std::to_string(index),
                             [&, index] { bare_device(index, down, up); });
      down[index]->set_receiver(actor);
      up[index]->set_receiver(actor);
    }
    cluster::engine().run();
    for (std::uint32_t index = 0; index < devices; ++index) {
      down[index]->set_receiver(nullptr);
      up[index]->set_receiver(nullptr);
    }
  }
  count(state);
}

void simgrid_engine(benchmark::State& state) {
  const Setup setup;
  for (auto _ : state) {
    analysis::SummarySink summary;
    execution::run(setup.job(), execution::EngineKind::simgrid, {}, summary);
    double makespan = summary.summary().makespan_s;
    benchmark::DoNotOptimize(makespan);
  }
  count(state);
}

void simgrid_engine_with_trace(benchmark::State& state) {
  const Setup setup;
  const auto file = std::filesystem::temp_directory_path() / "pipewright-bench.h5";
  for (auto _ : state) {
    analysis::SummarySink summary;
    trace::TraceWriter writer(file);
    trace::Tee tee({&summary, &writer});
    execution::run(setup.job(), execution::EngineKind::simgrid, {}, tee);
  }
  std::filesystem::remove(file);
  count(state);
}

BENCHMARK(bare_simgrid)->Unit(benchmark::kMillisecond);
BENCHMARK(simgrid_engine)->Unit(benchmark::kMillisecond);
BENCHMARK(simgrid_engine_with_trace)->Unit(benchmark::kMillisecond);

}  // namespace
