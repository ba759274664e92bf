// Measures analyses of a trace with a million passes (1F1B on 64 devices with 8,000 microbatches):
// the report, the page, the critical path and the exports. The baseline is the least that any
// analysis needs: reading the tables of the file with HDF5 alone.

#include <filesystem>
#include <map>
#include <sstream>

#include <benchmark/benchmark.h>
#include <hdf5.h>

#include "analysis/report/summary.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/why/why.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "analysis/web/page.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/execution/run.hpp"

namespace {

using namespace pipewright;
namespace fs = std::filesystem;

constexpr std::uint32_t devices = 64;
constexpr std::uint32_t microbatches = 8000;

fs::path scratch(const char* name) { return fs::temp_directory_path() / name; }

// The trace that all benchmarks share. It is made once, in memory and as a file.
struct Sample {
  fs::path file = scratch("pipewright-bench-1m.h5");
  trace::Trace trace;

  Sample() {
    const schedules::Schedule schedule =
        schedules::make_schedule("1f1b", {.devices = devices, .microbatches = microbatches});
    workload::StageCosts costs;
    const auto set = [&](schedules::PassKind kind, double seconds) {
      costs.times.of_stage[static_cast<int>(kind)].assign(devices, seconds);
    };
    set(schedules::PassKind::forward, 0.030);
    set(schedules::PassKind::backward, 0.049);
    costs.boundary_bytes = 24ULL << 20U;
    costs.activations.assign(devices, {.held = 1ULL << 30U});
    costs.state.resize(devices);
    const cluster::Cluster ideal = cluster::Cluster::ideal(1e-4);
    const std::vector<cluster::Host*> hosts(devices, ideal.gpus().front());
    trace::TraceCollector collector;
    trace::TraceWriter writer(file);
    trace::Tee tee({&collector, &writer});
    execution::run({.schedule = schedule, .costs = costs, .cluster = ideal, .hosts = hosts},
                   execution::EngineKind::timing, {}, tee);
    trace = std::move(collector.trace);
  }
  ~Sample() { fs::remove(file); }
};
const Sample& sample() {
  static const Sample made;
  return made;
}

void count(benchmark::State& state) {
  state.counters["passes/s"] = benchmark::Counter(static_cast<double>(sample().trace.passes.size()),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void bare_hdf5(benchmark::State& state) {
  const fs::path& path = sample().file;
  for (auto _ : state) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const char* table : {"passes", "transfers", "memory"}) {
      const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
      const hid_t space = H5Dget_space(data);
      const hid_t type = H5Dget_type(data);
      std::vector<char> rows(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) *
                             H5Tget_size(type));
      H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data());
      benchmark::DoNotOptimize(rows.data());
      H5Tclose(type);
      H5Sclose(space);
      H5Dclose(data);
    }
    H5Fclose(file);
  }
  count(state);
}

void report(benchmark::State& state) {
  for (auto _ : state) {
    analysis::SummarySink sink;
    trace::replay(sample().file, sink);
    const std::vector<analysis::Summary> one{sink.summary()};
    benchmark::DoNotOptimize(analysis::console_table(one));
  }
  count(state);
}

void page(benchmark::State& state) {
  const fs::path file = scratch("pipewright-bench-1m.html");
  for (auto _ : state) {
    const trace::Trace trace = trace::read_trace(sample().file);
    analysis::write_page({&trace, 1}, file);
  }
  state.counters["MB"] = static_cast<double>(fs::file_size(file)) / 1e6;
  fs::remove(file);
  count(state);
}

void critical_path(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(analysis::critical_path(sample().trace));
  count(state);
}

void why(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(analysis::why(sample().trace));
  count(state);
}

BENCHMARK(bare_hdf5)->Unit(benchmark::kMillisecond);
BENCHMARK(report)->Unit(benchmark::kMillisecond);
BENCHMARK(page)->Unit(benchmark::kMillisecond);
BENCHMARK(critical_path)->Unit(benchmark::kMillisecond);
BENCHMARK(why)->Unit(benchmark::kMillisecond);

}  // namespace
