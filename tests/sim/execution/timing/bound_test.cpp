#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/execution/timing/engine.hpp"
#include "support/timed.hpp"
#include "tests/sim/execution/collectives/support.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Tests the lower bound of a job's time: it never exceeds the simulated time, and equals it without
// contention.

using namespace pipewright;

namespace {

constexpr std::uint64_t divisible = 840 * 840;  // by all groups and buckets in these tests

double simulated(const execution::Job& job) {
  analysis::SummarySink sink;
  execution::run(job, execution::EngineKind::simgrid, {}, sink);
  return sink.summary().makespan_s;
}

void set_random_parameters(tests::HybridJob& job, tests::Random& random) {
  for (workload::StageTraffic& stage : job.costs.traffic)
    stage.parameters = random.whole(0, 2) * divisible;
  job.communication().bucket = random.whole(2, 8) * divisible / 2;
  // Bytes of gathered weights that a device holds at a time with ZeRO-3. They determine the size of
  // a layer.
  if (random.flip())
    job.costs.gathered.assign(job.schedule.stages(), random.whole(1, 4) * divisible);
}

// Makes the job's traffic contend: large tensors, experts, collectives in passes, all algorithms.
void set_random_traffic(tests::HybridJob& job, tests::Random& random) {
  set_random_parameters(job, random);
  job.costs.boundary_bytes = random.whole(0, 40'000'000);
  job.communication().all_reduce = static_cast<config::Algorithm>(random.whole(0, 4));
  for (workload::StageTraffic& stage : job.costs.traffic) {
    stage.parameters += random.whole(0, 50'000'000);
    if (random.flip()) stage.expert_parameters = random.whole(0, 10'000'000);
  }
  // Sizes are such that a stage has at most a few dozen buckets and layers, which bounds the time
  // of the test.
  job.communication().bucket = random.whole(20, 80) * divisible / 2;
  for (std::size_t stage = 0; stage < job.costs.gathered.size(); ++stage)
    job.costs.gathered[stage] = 4 * (job.costs.traffic[stage].parameters + 1) / random.whole(1, 12);
  if (random.flip())
    for (workload::StageTraffic* stage : {&job.costs.traffic.front(), &job.costs.traffic.back()})
      stage->embedding_parameters = 1'000'003;
}

void check_bound_holds(const cluster::Cluster& cluster, std::uint32_t seed, int rounds,
                       const tests::JobSpace& space,
                       const std::function<void(tests::HybridJob&, tests::Random&)>& change) {
  double tightness = 0;
  const int count =
      tests::for_random_jobs(seed, rounds, space, [&](tests::HybridJob& random_job, auto& random) {
        set_random_traffic(random_job, random);
        change(random_job, random);
        const execution::Job job = random_job.job(cluster);
        const double time = simulated(job);
        const double bound = execution::lower_bound(job);
        CAPTURE(tests::describe(random_job));
        CHECK(bound <= time * (1 + 1e-8));
        CHECK(bound > 0);
        tightness += bound / time;
      });
  CHECK(count > 15 * rounds);
  CHECK(tightness / count > 0.5);  // the bound must not be trivial
  UNSCOPED_INFO("mean tightness " << tightness / count);
}

cluster::Cluster leaf_spine_cluster(const char* node, std::uint32_t nodes,
                                    double oversubscription) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write(
      "made.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind(node), nodes}},
                                          .fabric = "leaf-spine",
                                          .oversubscription = oversubscription,
                                          .leaf_nodes = 1})));
}

}  // namespace

TEST_CASE("the bound equals the simulated time without contention", "[bound]") {
  const auto cluster = tests::mesh_cluster(16);
  for (const std::uint32_t zero : {0U, 1U, 2U, 3U}) {
    const int count = tests::for_random_jobs(
        77 + zero, 6, {.zeros = {zero}}, [&](tests::HybridJob& random_job, tests::Random& random) {
          set_random_parameters(random_job, random);
          // A fused pair can send two tensors to the same device at once, and so can pipelines in
          // both directions. They would contend, so these get no boundary tensors.
          if (!schedules::has_fused_pairs(random_job.schedule) &&
              random_job.schedule.routes.count() == 1)
            random_job.costs.boundary_bytes = 1'000'000;
          const execution::Job job = random_job.job(cluster);
          const double time = simulated(job);
          CAPTURE(tests::describe(random_job));
          CHECK(execution::lower_bound(job) == Approx(time).epsilon(1e-9));
        });
    CHECK(count > 70);
  }
}

TEST_CASE("the bound equals the time of FSDP stages that are gathered again", "[bound]") {
  const auto cluster = tests::mesh_cluster(16);
  int resharding = 0;
  tests::for_random_jobs(
      99, 12, {.zeros = {1}}, [&](tests::HybridJob& random_job, tests::Random& random) {
        set_random_parameters(random_job, random);
        random_job.limit_unsharded_stages(tests::random_window(random, 2));
        if (random_job.conditions.unshard_windows.empty() || random_job.schedule.routes.count() > 1)
          return;
        if (!schedules::has_fused_pairs(random_job.schedule))
          random_job.costs.boundary_bytes = 1'000'000;
        const execution::Job job = random_job.job(cluster);
        CAPTURE(tests::describe(random_job), random_job.conditions.unshard_windows.front().resident,
                random_job.conditions.unshard_windows.front().lookahead);
        CHECK(execution::lower_bound(job) == Approx(simulated(job)).epsilon(1e-9));
        ++resharding;
      });
  CHECK(resharding > 20);
}

TEST_CASE("the bound of 1F1B is its closed form", "[bound]") {
  // For p devices, m microbatches, F of 1 s and B of 2 s, an iteration takes (m + p - 1) (F + B)
  // and a hop in each direction between neighbours.
  const auto network = cluster::Cluster::ideal(0.25);
  const auto schedule = schedules::make_schedule("1f1b", {.devices = 4, .microbatches = 8});
  workload::StageCosts costs;
  costs.times = tests::uniform_times(schedule, 1, 1, 1);
  costs.activations.resize(4);
  costs.state.resize(4);
  execution::Job job{
      .schedule = schedule, .costs = costs, .cluster = network, .hosts = network.place({}, 4)};
  const double time = simulated(job);
  CHECK(execution::lower_bound(job) == Approx(time).epsilon(1e-12));
  const auto no_latency = cluster::Cluster::ideal(0);
  const execution::Job latency_free{.schedule = schedule,
                                    .costs = costs,
                                    .cluster = no_latency,
                                    .hosts = no_latency.place({}, 4)};
  CHECK(execution::lower_bound(latency_free) == Approx((8 + 4 - 1) * 3).epsilon(1e-12));
}

TEST_CASE("the bound holds on nodes with a shared NIC and thin uplinks", "[bound]") {
  const auto cluster = tests::make_cluster({{4, 4, 4, 4}, 4, true});
  check_bound_holds(cluster, 1, 5, {}, [](auto&, auto&) {});
}

TEST_CASE("the bound holds on an oversubscribed fabric", "[bound]") {
  const auto cluster = leaf_spine_cluster("a100-4nic", 2, 4);
  check_bound_holds(cluster, 2, 5, {.max_iterations = 2}, [](auto&, auto&) {});
}

TEST_CASE("the bound holds with FSDP stages that are gathered again", "[bound]") {
  const auto cluster = leaf_spine_cluster("a100-4nic", 2, 4);
  check_bound_holds(cluster, 5, 5, {.zeros = {1}, .max_iterations = 2},
                    [](tests::HybridJob& job, tests::Random& random) {
                      if (job.schedule.routes.count() == 1)
                        job.limit_unsharded_stages(tests::random_window(random, 2));
                      if (random.flip())
                        job.slowdown =
                            random.reals(std::size_t{job.ranks.replicas()} * job.schedule.devices,
                                         random.flip() ? 0.6 : 1, 1.6);
                    });
}

TEST_CASE("the bound holds with slow and fast devices whose passes overlap", "[bound]") {
  const auto cluster = leaf_spine_cluster("dgx-1-v100", 2, 2);
  check_bound_holds(
      cluster, 3, 5, {.max_iterations = 2}, [](tests::HybridJob& job, tests::Random& random) {
        job.slowdown = random.reals(std::size_t{job.ranks.replicas()} * job.schedule.devices,
                                    random.flip() ? 0.6 : 1, 1.6);
        if (random.flip()) job.communication().overlap_slowdown = random.real(1, 1.4);
      });
}

TEST_CASE("the bound holds with collectives inside passes simulated in full", "[bound]") {
  const auto cluster = tests::make_cluster({{4, 4, 4, 4}, 20, false});
  check_bound_holds(cluster, 4, 4, {}, [](tests::HybridJob& job, tests::Random& random) {
    job.communication().detail = config::Detail::full;
    for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward,
                            schedules::PassKind::input_grad})
      for (const auto group : {workload::Group::tp, workload::Group::cp, workload::Group::ep})
        if (random.flip())
          job.add_call(kind, {.group = group,
                              .collective = static_cast<workload::Collective>(random.whole(0, 4)),
                              .bytes = random.whole(1, 4'000'000),
                              .times = random.whole(1, 3),
                              .overlappable_compute = random.flip() ? random.real(0, 2e-3) : 0});
    if (random.flip())
      job.slowdown =
          random.reals(std::size_t{job.ranks.replicas()} * job.schedule.devices, 0.8, 1.6);
  });
}

TEST_CASE("the bound includes a straggler of another replica through synchronization", "[bound]") {
  const auto cluster = tests::mesh_cluster(16);
  tests::HybridJob random_job(schedules::make_schedule("1f1b", {.devices = 4, .microbatches = 8}),
                              {.dp = 4, .zero = 1});
  random_job.set_parameters(divisible);
  random_job.slowdown.assign(16, 1);
  random_job.slowdown[4 * 2 + 1] = 1.5;  // device 1 of replica 2
  const execution::Job job = random_job.job(cluster);
  CHECK(execution::lower_bound(job) == Approx(simulated(job)).epsilon(1e-9));
}

TEST_CASE("the bound equals the time of the timing engine", "[bound]") {
  const auto cluster = tests::make_cluster({{4, 4, 4, 4}, 4, true});
  const int count =
      tests::for_random_jobs(31, 5, {}, [&](tests::HybridJob& random_job, tests::Random& random) {
        set_random_traffic(random_job, random);
        const execution::Job job = random_job.job(cluster);
        analysis::SummarySink sink;
        execution::run(job, execution::EngineKind::timing, {}, sink);
        execution::LeastTimes least_times(job, execution::LeastTimes::Sharing::ignored);
        const double bound = execution::lower_bound(job, least_times);
        CAPTURE(tests::describe(random_job));
        CHECK(bound <= sink.summary().makespan_s * (1 + 1e-9));
        CHECK(bound == Approx(sink.summary().makespan_s).epsilon(1e-9));
      });
  CHECK(count > 70);
}

TEST_CASE("random pass times have no bound", "[bound]") {
  const auto network = cluster::Cluster::ideal(0);
  tests::HybridJob random_job(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 2}),
                              {});
  random_job.conditions.variation.jitter = 0.1;
  CHECK_THROWS_AS(execution::lower_bound(random_job.job(network)), config::Error);
}
