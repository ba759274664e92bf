#include "sim/execution/ledger.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "support/timed.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Memory depends only on the order of passes: the peak of a walk over the programs must equal the
// peak of a simulation, to the byte.

using namespace pipewright;
using execution::Ledger;
using schedules::PassKind;
using trace::MemoryCategory;

namespace {

void set_random_bytes(tests::HybridJob& job, tests::Random& random) {
  const auto bytes = [&](std::uint32_t max_bytes) {
    return std::uint64_t{random.whole(0, max_bytes)};
  };
  for (workload::Activations& stage : job.costs.activations) {
    stage.held = bytes(5000);
    stage.released_by_input_grad = random.whole(0, static_cast<std::uint32_t>(stage.held));
    stage.made_by_input_grad = random.flip() ? bytes(3000) : 0;
    stage.logits = random.flip() ? bytes(4000) : 0;
    stage.working = random.flip() ? bytes(2000) : 0;
  }
  for (workload::DeviceState& state : job.costs.state)
    state = {bytes(900), bytes(900), bytes(900),
             bytes(900), bytes(900), random.flip() ? bytes(20000) : 0};
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage)
    job.costs.gathered.push_back(bytes(3000));
  job.costs.boundary_bytes = bytes(1000);
  job.set_parameters(840);
}

execution::Job single_replica_job(const schedules::Schedule& schedule,
                                  const workload::StageCosts& costs,
                                  const cluster::Cluster& network) {
  return {.schedule = schedule,
          .costs = costs,
          .cluster = network,
          .hosts = network.place({}, schedule.devices)};
}

workload::StageCosts costs_of(const schedules::Schedule& schedule) {
  workload::StageCosts costs;
  costs.times = tests::uniform_times(schedule, 1, 1, 1);
  costs.activations.assign(schedule.stages(), {.held = 100, .released_by_input_grad = 30});
  costs.state.assign(schedule.devices, {.weights = 7});
  return costs;
}

}  // namespace

TEST_CASE(
    "the peak of the ledger equals that of a simulation, for every schedule and every "
    "level of ZeRO",
    "[ledger]") {
  const auto cluster = tests::mesh_cluster(16);
  int gathered = 0;
  int recomputed = 0;
  int in_step = 0;
  const int count = tests::for_random_jobs(
      505, 8, {.max_iterations = 2}, [&](tests::HybridJob& random_job, tests::Random& random) {
        set_random_bytes(random_job, random);
        const execution::Job job = random_job.job(cluster);
        analysis::SummarySink sink;
        execution::run(job, execution::EngineKind::simgrid, {}, sink);
        CAPTURE(tests::describe(random_job));
        for (const analysis::DeviceSummary& device : sink.summary().devices) {
          const execution::PeakMemory peak = execution::peak_memory(job, device.device);
          CHECK(peak.bytes == device.peak_memory_bytes);
          CHECK(peak.at_peak == device.at_peak);
          if (peak.at_peak[static_cast<std::size_t>(MemoryCategory::gathered)] > 0) ++gathered;
          const std::uint64_t step = job.costs.state[device.device].step;
          if (step > 2000 &&
              peak.at_peak[static_cast<std::size_t>(MemoryCategory::working)] == step)
            ++in_step;
        }
        if (!job.schedule.recomputed.empty()) ++recomputed;
      });
  CHECK(count > 120);
  CHECK(gathered > 20);
  CHECK(recomputed > 0);
  CHECK(in_step > 40);
}

TEST_CASE("the peak of the ledger equals that of a simulation that gathers stages again",
          "[ledger]") {
  const auto cluster = tests::mesh_cluster(16);
  int resharding = 0;
  tests::for_random_jobs(
      506, 8, {.zeros = {1}, .max_iterations = 2},
      [&](tests::HybridJob& random_job, tests::Random& random) {
        set_random_bytes(random_job, random);
        for (workload::StageTraffic& stage : random_job.costs.traffic)
          stage.parameters = 840 * random.whole(0, 3);
        random_job.limit_unsharded_stages(tests::random_window(random, 2));
        if (random_job.conditions.unshard_windows.empty() || random_job.schedule.routes.count() > 1)
          return;
        const execution::Job job = random_job.job(cluster);
        analysis::SummarySink sink;
        execution::run(job, execution::EngineKind::simgrid, {}, sink);
        CAPTURE(tests::describe(random_job));
        for (const analysis::DeviceSummary& device : sink.summary().devices) {
          const execution::PeakMemory peak = execution::peak_memory(job, device.device);
          CHECK(peak.bytes == device.peak_memory_bytes);
          CHECK(peak.at_peak == device.at_peak);
        }
        ++resharding;
      });
  CHECK(resharding > 10);
}

TEST_CASE("a loop whose rounds add memory peaks in its last round", "[ledger]") {
  schedules::Program program;
  program.repeat(1000, 1, {{PassKind::forward, 0, 0}});
  program.repeat(1000, 1, {{PassKind::input_grad, 0, 0}, {PassKind::weight_grad, 0, 0}});
  const schedules::Schedule schedule{.name = "all forwards first",
                                     .devices = 1,
                                     .microbatches = 1000,
                                     .routes = schedules::Routes::looped(1, 1),
                                     .programs = {program}};
  const auto network = cluster::Cluster::ideal(0);
  const workload::StageCosts costs = costs_of(schedule);
  const auto peak = execution::peak_memory(single_replica_job(schedule, costs, network), 0);
  CHECK(peak.bytes == 7 + 1000 * 100);
  CHECK(peak.at_peak[static_cast<std::size_t>(MemoryCategory::activations)] == 1000 * 100);
}

TEST_CASE("the forward pass of a fused pair reuses the memory that the backward pass frees",
          "[ledger]") {
  using schedules::Pass;
  const auto peak = [](const Pass& first, const Pass& second, bool is_model = true) {
    schedules::Program program;
    program.repeat(1, 0, {{PassKind::forward, 0, 0}, first, second, {PassKind::backward, 0, 1}});
    const schedules::Schedule schedule{.name = "a pair",
                                       .devices = 1,
                                       .microbatches = 2,
                                       .routes = schedules::Routes::looped(1, 1),
                                       .programs = {program}};
    const auto network = cluster::Cluster::ideal(0);
    workload::StageCosts costs = costs_of(schedule);
    if (is_model) costs.traffic.resize(1);
    return execution::peak_memory(single_replica_job(schedule, costs, network), 0).bytes;
  };
  const Pass forward{PassKind::forward, 0, 1};
  const Pass backward{PassKind::backward, 0, 0};
  const auto fused = [](Pass pass) {
    pass.fused = true;
    return pass;
  };
  CHECK(peak(fused(forward), backward) == 7 + 100);
  CHECK(peak(fused(backward), forward) == 7 + 100);
  CHECK(peak(forward, backward) == 7 + 200);
  CHECK(peak(fused(forward), backward, false) == 7 + 200);
}

TEST_CASE("the peak of a million microbatches equals that of ten microbatches per device",
          "[ledger]") {
  const auto network = cluster::Cluster::ideal(0);
  for (const char* name : {"1f1b", "interleaved-1f1b", "zb-h1", "v-half"}) {
    const auto peaks = [&](std::uint32_t microbatches) {
      const auto schedule =
          schedules::make_schedule(name, {.devices = 4, .microbatches = microbatches});
      const workload::StageCosts costs = costs_of(schedule);
      const execution::Job job = single_replica_job(schedule, costs, network);
      std::vector<std::uint64_t> bytes;
      for (std::uint32_t device = 0; device < 4; ++device)
        bytes.push_back(execution::peak_memory(job, device).bytes);
      return bytes;
    };
    CAPTURE(name);
    CHECK(peaks(1'000'000) == peaks(40));
  }
}

TEST_CASE("the rounds of a loop add up whatever they leave behind", "[ledger]") {
  // Compares random sequences of passes that allocate and free memory, written as a loop and
  // written out.
  tests::Random random(12);
  const auto network = cluster::Cluster::ideal(0);
  for (int round = 0; round < 200; ++round) {
    schedules::Program program;
    for (std::uint32_t loops = random.whole(1, 4); loops > 0; --loops) {
      std::vector<schedules::Pass> body;
      for (std::uint32_t passes = random.whole(1, 5); passes > 0; --passes)
        body.push_back({random.flip() ? PassKind::forward : PassKind::input_grad,
                        static_cast<std::uint16_t>(random.whole(0, 2)), 0});
      program.repeat(random.whole(1, 6), 0, body);
    }
    program.iterations = random.whole(1, 3);
    schedules::Schedule schedule{.name = "loops",
                                 .devices = 1,
                                 .chunks = 3,
                                 .microbatches = 1,
                                 .routes = schedules::Routes::looped(1, 3),
                                 .programs = {program}};
    workload::StageCosts costs = costs_of(schedule);
    costs.state.front().weights =
        1'000'000;  // more than passes that only free memory could subtract
    for (workload::Activations& stage : costs.activations)
      stage = {.held = random.whole(1, 100),
               .released_by_input_grad = random.whole(1, 100),
               .working = random.whole(0, 50)};
    const auto looped = execution::peak_memory(single_replica_job(schedule, costs, network), 0);
    schedules::Program flat;
    flat.repeat(1, 0, schedules::passes_of(program));
    schedule.programs = {flat};
    const auto unrolled = execution::peak_memory(single_replica_job(schedule, costs, network), 0);
    CHECK(looped.bytes == unrolled.bytes);
    CHECK(looped.at_peak == unrolled.at_peak);
  }
}
