#include "tests/analysis/report/why/random_runs.hpp"

#include <optional>
#include <random>

#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/runs.hpp"

namespace pipewright::tests {
namespace {

using execution::EngineKind;
using schedules::P2p;

class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_(seed) {}
  std::uint32_t whole(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(generator_);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  bool flip() { return whole(0, 1) == 1; }

 private:
  std::mt19937 generator_;
};

std::optional<schedules::Schedule> random_schedule(const schedules::Entry& entry, Random& random,
                                                   std::uint32_t most_devices,
                                                   std::uint32_t most_iterations) {
  schedules::Parameters parameters{.devices = random.whole(1, most_devices),
                                   .microbatches = random.whole(1, 16),
                                   .iterations = random.whole(1, most_iterations)};
  if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = random.whole(1, 3);
  if (entry.takes(&schedules::Parameters::fold)) parameters.fold = random.whole(1, 2);
  try {
    return entry.make(parameters);
  } catch (const schedules::Error&) {
    return std::nullopt;  // sizes that the family refuses
  }
}

// Draws the durations of passes: either whole milliseconds, so that events often coincide, or
// arbitrary values.
schedules::PassTimes random_times(const schedules::Schedule& schedule, Random& random) {
  const bool whole = random.flip();
  schedules::PassTimes times;
  for (auto& of_stage : times.of_stage)
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
      of_stage.push_back(whole ? 1e-3 * random.whole(1, 3) : random.real(1e-3, 5e-3));
  return times;
}

std::string name_of(const execution::Job& job, EngineKind engine, const char* network) {
  return fmt::format("{} {}x{} chunks {} iterations {} p2p {} {} {}", job.schedule.name,
                     job.schedule.devices, job.schedule.microbatches, job.schedule.chunks,
                     job.schedule.iterations, static_cast<int>(job.p2p),
                     engine == EngineKind::timing ? "timing" : "simgrid", network);
}

}  // namespace

int random_pipelines(const LookAt& look) {
  const cluster::Cluster& bench = bench_cluster();
  Random random(271828);
  int runs = 0;
  for (int round = 0; round < 3; ++round)
    for (const schedules::Entry& entry : schedules::catalog())
      for (const P2p mode : {P2p::eager, P2p::rendezvous, P2p::blocking, P2p::steady}) {
        const auto schedule = random_schedule(entry, random, 6, 3);
        if (!schedule) continue;
        workload::StageCosts costs = costs_of(*schedule, random_times(*schedule, random));
        costs.boundary_bytes = 1'000'000 * random.whole(1, 4);
        const auto ideal =
            ideal_network(random.flip() ? 1e-3 * random.whole(0, 2) : random.real(1e-6, 3e-3));
        std::vector<std::string> names;
        for (std::uint32_t device = 0; device < schedule->devices; ++device)
          names.push_back(fmt::format("{}-{}", schedule->devices > 4 ? "own" : "star", device));
        execution::Job job{.schedule = *schedule,
                           .costs = costs,
                           .cluster = ideal,
                           .hosts = ideal.place({}, schedule->devices),
                           .p2p = mode};
        for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid})
          look(run(job, engine), name_of(job, engine, "ideal")), ++runs;
        const execution::Job shared{.schedule = *schedule,
                                    .costs = costs,
                                    .cluster = bench,
                                    .hosts = bench.place(names, schedule->devices),
                                    .p2p = mode};
        look(run(shared, EngineKind::simgrid), name_of(shared, EngineKind::simgrid, "star"));
        ++runs;
      }
  return runs;
}

int random_hybrids(const LookAt& look) {
  const cluster::Cluster cluster = mesh_cluster(16);
  Random random(314159);
  int runs = 0;
  for (int round = 0; round < 3; ++round)
    for (const schedules::Entry& entry : schedules::catalog())
      for (const std::uint32_t zero : {0U, 1U, 2U, 3U}) {
        const auto schedule = random_schedule(entry, random, 4, 3);
        if (!schedule) continue;
        const Layout layout{.dp = 16 / schedule->devices > 4 ? 4 : 16 / schedule->devices,
                            .zero = zero,
                            .replicas_together = random.flip()};
        HybridJob job(*schedule, layout);
        job.costs.times = random_times(*schedule, random);
        job.costs.boundary_bytes = 1'000'000;
        job.p2p = static_cast<P2p>(random.whole(0, 2));
        for (workload::StageTraffic& stage : job.costs.traffic)
          stage.parameters = 840ULL * 840 * random.whole(0, 4);
        for (double& seconds : job.costs.optimizer_seconds) seconds = random.real(0, 5e-3);
        config::Communication& talk = job.communication();
        talk.overlap_grad_reduce = random.flip();
        talk.overlap_param_gather = random.flip();
        talk.global_norm = random.flip();
        if (random.flip())
          for (auto* stage : {&job.costs.traffic.front(), &job.costs.traffic.back()})
            stage->embedding_parameters = 300'000, stage->parameters += 300'000;
        if (random.flip())
          for (std::uint32_t i = 0; i < layout.dp * schedule->devices; ++i)
            job.slowdown.push_back(random.real(1, 1.2));
        const auto what = [&](EngineKind engine) {
          return name_of(job.job(cluster), engine, "mesh") +
                 fmt::format(" zero {} overlap {} {} norm {}", zero, talk.overlap_grad_reduce,
                             talk.overlap_param_gather, talk.global_norm);
        };
        try {
          const trace::Trace trace = job.run(cluster);
          look(trace, what(EngineKind::simgrid)), ++runs;
          look(job.run(cluster, EngineKind::timing), what(EngineKind::timing)), ++runs;
        } catch (const schedules::Error&) {
          // skip combinations that the schedule family or the timing engine does not support
        }
      }
  return runs;
}

}  // namespace pipewright::tests
