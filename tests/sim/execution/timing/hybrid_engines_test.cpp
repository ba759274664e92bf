#include <algorithm>
#include <tuple>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Tests that two engines give hybrid jobs the same times and memory if nothing contends: the one
// with SimGrid's actors and flows, and the one that adds up durations.

using namespace pipewright;
using execution::EngineKind;

namespace {

// The largest difference between times of both engines so far, as a fraction of the run's duration.
double largest_difference = 0;

template <class Row>
void check_same_rows(std::vector<Row> a, std::vector<Row> b, double end,
                     std::initializer_list<double Row::*> times) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (const auto time : times)
      largest_difference = std::max(largest_difference, std::abs(a[i].*time - b[i].*time) / end);
}

template <class Row, class Name>
std::vector<Row> sorted(std::vector<Row> rows, const Name& key) {
  std::ranges::sort(rows, {}, key);
  return rows;
}

void check_same(const trace::Trace& simulated, const trace::Trace& timed) {
  const double end = tests::last_end(timed);
  REQUIRE(end > 0);
  largest_difference = 0;
  const auto pass = [](const trace::PassRow& row) {
    return std::tuple(row.device, row.stage, row.microbatch, row.kind);
  };
  using trace::PassRow;
  check_same_rows<PassRow>(
      sorted(simulated.passes, pass), sorted(timed.passes, pass), end,
      {&PassRow::sent, &PassRow::ready, &PassRow::start, &PassRow::end, &PassRow::released});
  CHECK(largest_difference < 1e-9);

  largest_difference = 0;
  using trace::CollectiveRow;
  const auto collective = [](const CollectiveRow& row) {
    return std::tuple(row.device, row.kind, row.stage, row.iteration, row.posted, row.end);
  };
  const auto a = sorted(simulated.collectives, collective);
  const auto b = sorted(timed.collectives, collective);
  check_same_rows<CollectiveRow>(
      a, b, end, {&CollectiveRow::posted, &CollectiveRow::start, &CollectiveRow::end});
  CHECK(largest_difference < 1e-9);
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK((a[i].stage == b[i].stage && a[i].kind == b[i].kind && a[i].bytes == b[i].bytes));

  largest_difference = 0;
  using trace::StepRow;
  const auto step = [](const StepRow& row) { return std::tuple(row.device, row.iteration); };
  check_same_rows<StepRow>(sorted(simulated.steps, step), sorted(timed.steps, step), end,
                           {&StepRow::start, &StepRow::reduced, &StepRow::synchronized,
                            &StepRow::updated, &StepRow::end, &StepRow::gathering});
  CHECK(largest_difference < 1e-9);

  largest_difference = 0;
  using trace::WaitRow;
  const auto wait = [](const WaitRow& row) {
    return std::tuple(row.event, row.iteration, row.stage, row.time);
  };
  check_same_rows<WaitRow>(sorted(simulated.waits, wait), sorted(timed.waits, wait), end,
                           {&WaitRow::time});
  CHECK(largest_difference < 1e-9);

  // Engines interleave devices differently, so memory rows are sorted by device before they are
  // compared.
  largest_difference = 0;
  using trace::MemoryRow;
  const auto memory = [](std::vector<MemoryRow> rows) {
    std::ranges::stable_sort(rows, {}, &MemoryRow::device);
    return rows;
  };
  const auto simulated_memory = memory(simulated.memory);
  const auto timed_memory = memory(timed.memory);
  check_same_rows<MemoryRow>(simulated_memory, timed_memory, end, {&MemoryRow::time});
  CHECK(largest_difference < 1e-9);
  CHECK(std::ranges::equal(simulated_memory, timed_memory,
                           [](const MemoryRow& x, const MemoryRow& y) {
                             return x.category == y.category && x.bytes == y.bytes;
                           }));
}

// Sets random passes of 2 to 10 ms, longer than a transfer of 1 MB.
void randomize(tests::HybridJob& job, tests::Random& random) {
  for (auto& times_by_stage : job.costs.times.of_stage)
    for (double& seconds : times_by_stage) seconds = random.real(2e-3, 10e-3);
  // Fused pairs and schedules with two routes may send several tensors over a link at once, so
  // their tensors have no bytes.
  const bool is_single =
      !schedules::has_fused_pairs(job.schedule) && job.schedule.routes.count() == 1;
  job.costs.boundary_bytes = is_single ? 1'000'000 : 0;
  // Flows have whole bytes. This number is divisible by all sizes of groups and numbers of buckets,
  // which are at most 8.
  constexpr std::uint64_t divisible = 840 * 840;
  for (workload::StageTraffic& stage : job.costs.traffic)
    stage.parameters = random.whole(0, 2) * divisible;
  for (double& seconds : job.costs.optimizer_seconds) seconds = random.real(0, 5e-3);
  if (random.flip())
    for (std::vector<double>& slowdown_by_stage : job.costs.overlap_slowdown)
      slowdown_by_stage = random.reals(job.schedule.stages(), 1, 1.6);
  config::Communication& communication = job.communication();
  communication.overlap_grad_reduce = random.flip();
  communication.overlap_param_gather = random.flip();
  communication.global_norm = random.flip();
  communication.gradient_bytes = random.flip() ? 4 : 2;
  communication.bucket = random.whole(2, 8) * divisible / 2;
  communication.all_reduce = random.flip() ? config::Algorithm::ring : config::Algorithm::direct;
  // With two devices, gradients of the embedding would share the only link with the pipeline's
  // tensors.
  if (random.flip() && job.schedule.devices > 2)
    for (workload::StageTraffic* stage : {&job.costs.traffic.front(), &job.costs.traffic.back()}) {
      stage->embedding_parameters = 100'000;
      stage->parameters = divisible;
    }
}

// Makes some passes longer than their kernels, as if the host launched them slowly.
void add_host(tests::HybridJob& job, tests::Random& random) {
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    job.costs.host_waits[kind] = random.reals(job.schedule.stages(), 0, 4e-3);
    for (std::uint32_t stage = 0; stage < job.costs.times.of_stage[kind].size(); ++stage)
      job.costs.times.of_stage[kind][stage] += job.costs.host_waits[kind][stage];
  }
}

struct Space {
  std::uint32_t tp = 1;
  std::vector<std::uint32_t> zeros{0};
  std::uint32_t max_iterations = 1;
  bool stragglers = false;
  bool jitter = false;
  bool in_full = false;  // collectives inside passes are simulated individually
  bool copies = false;   // copies of shards
  // FSDP pipelines of schedules with several stages per device, which gather 1 to 3 stages at a
  // time
  bool reshards_stages = false;
};

// Slows down the GPUs of one or two replicas.
void slow_down(tests::HybridJob& job, tests::Random& random) {
  job.slowdown.assign(std::size_t{job.ranks.replicas()} * job.schedule.devices, 1);
  for (int count = 0; count < 2; ++count)
    job.slowdown[random.whole(0, static_cast<std::uint32_t>(job.slowdown.size()) - 1)] =
        random.real(0.8, 1.6);
}

// Adds collectives that overlap with compute. For some of them, the compute beside which they may
// run is longer than the pass.
void add_calls(tests::HybridJob& job, workload::Group group, tests::Random& random) {
  using schedules::PassKind;
  job.communication().detail = config::Detail::full;
  job.communication().overlap_grad_reduce = false;
  for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
    for (std::uint32_t count = random.whole(0, 2); count > 0; --count)
      job.add_call(kind, {.group = group,
                          .collective = random.flip() ? workload::Collective::all_gather
                                                      : workload::Collective::reduce_scatter,
                          .bytes = random.whole(1, 4) * 840 * 840,
                          .times = random.whole(1, 3),
                          .overlappable_compute = random.flip() ? random.real(0, 8e-3) : 0});
}

// Compares the engines for all families of schedules, on layouts that fit 16 GPUs.
void compare(const Space& space) {
  const auto cluster = tests::mesh_cluster(16);
  tests::Random random(1701);
  int compared = 0;
  for (int round = 0; round < 4; ++round)
    for (const schedules::Entry& entry : schedules::catalog())
      for (const std::uint32_t zero : space.zeros) {
        schedules::Parameters parameters{
            .devices = random.flip() ? 4U : 2U,
            .microbatches = 2 * random.whole(1, 6),
            .iterations = space.max_iterations > 1 ? random.whole(2, space.max_iterations) : 1};
        if (entry.takes(&schedules::Parameters::chunks))
          parameters.chunks = random.whole(1, space.reshards_stages ? 5 : 3);
        if (entry.takes(&schedules::Parameters::fused)) parameters.fused = random.whole(0, 1);
        if (entry.takes(&schedules::Parameters::fold)) parameters.fold = random.whole(1, 2);
        std::optional<schedules::Schedule> schedule;
        try {
          schedule = entry.make(parameters);
        } catch (const schedules::Error&) {
          continue;
        }
        // Two cases are left out: iterations with several weight versions, whose steps overlap, and
        // sharded gradients of a stage that is on two devices.
        if (parameters.iterations > 1 && schedule->weight_versions > 1) continue;
        if (zero >= 2 && schedule->routes.count() > 1) continue;
        const bool folded = space.in_full && random.flip();
        const std::uint32_t dp = 16 / space.tp / parameters.devices;
        const std::uint32_t copies = space.copies ? random.whole(1, 2) : 1;
        tests::HybridJob job(std::move(*schedule), {.tp = space.tp,
                                                    .dp = random.whole(1, dp / copies) * copies,
                                                    .replicate = copies,
                                                    .zero = zero,
                                                    .replicas_together = random.flip(),
                                                    .folded = folded});
        randomize(job, random);
        if (parameters.iterations > 1) job.communication().global_norm = true;
        if (space.reshards_stages) {
          job.limit_unsharded_stages(tests::random_window(random, 4));
          if (job.conditions.unshard_windows.empty() || job.schedule.routes.count() > 1) continue;
        }
        if (zero == 3 && random.flip())  // holds some layers at a time
          job.costs.gathered.assign(job.schedule.stages(), random.whole(1, 4) * 840 * 840);
        if (zero == 3 && random.flip())
          job.costs.gathers_ahead.assign(job.schedule.stages(), random.whole(1, 4));
        if (space.copies && zero == 3) {
          job.conditions.sums_copies_once = random.flip();
          job.conditions.shards_copies = random.flip();
          if (random.flip()) job.conditions.shard_gradient_bytes = 2;
          job.conditions.backward_gathers = random.whole(1, 2);
          job.conditions.reshards = random.flip();
          job.conditions.by_layer = random.flip();
        }
        if (random.flip()) add_host(job, random);
        if (space.stragglers) slow_down(job, random);
        if (space.in_full)
          add_calls(job, folded ? workload::Group::ep : workload::Group::tp, random);
        job.costs.weight_grads_apart = random.flip();
        if (space.jitter)
          job.conditions.variation = {.jitter = random.real(0.01, 0.2),
                                      .seed = random.whole(1, 99)};
        job.p2p = static_cast<schedules::P2p>(random.whole(0, 2));
        CAPTURE(entry.name, parameters.devices, parameters.microbatches, parameters.iterations,
                job.ranks.replicas(), job.schedule.chunks, zero,
                job.communication().overlap_grad_reduce, job.communication().overlap_param_gather,
                static_cast<int>(job.p2p));
        check_same(job.run(cluster), job.run(cluster, EngineKind::timing));
        ++compared;
      }
  CHECK(compared > 30);
}

}  // namespace

TEST_CASE("the engines agree on replicas", "[hybrid]") { compare({}); }

TEST_CASE("the engines agree on replicas under ZeRO-1", "[hybrid]") { compare({.zeros = {1}}); }

TEST_CASE("the engines agree on replicas under ZeRO-2 and ZeRO-3", "[hybrid]") {
  compare({.zeros = {2, 3}});
}

TEST_CASE("the engines agree on copies of shards, with and without resharding", "[hybrid]") {
  compare({.zeros = {1, 2, 3, 3}, .copies = true});
}

TEST_CASE("the engines agree on FSDP stages that are gathered again", "[hybrid]") {
  compare({.zeros = {1, 1, 1, 1, 1, 1}, .copies = true, .reshards_stages = true});
  compare({.tp = 2, .zeros = {1, 1, 1, 1, 1, 1}, .max_iterations = 3, .reshards_stages = true});
}

TEST_CASE("the engines agree on replicas of tensor-parallel devices", "[hybrid]") {
  compare({.tp = 2, .zeros = {0, 1, 2, 3}});
}

TEST_CASE("the engines agree on iterations that wait for each other", "[hybrid]") {
  compare({.zeros = {0, 1, 2, 3}, .max_iterations = 3});
}

TEST_CASE("the engines agree on stragglers among replicas", "[hybrid]") {
  compare({.zeros = {0, 1}, .max_iterations = 2, .stragglers = true});
}

TEST_CASE("the engines agree on passes with random times", "[hybrid]") {
  compare({.zeros = {0, 1}, .max_iterations = 2, .jitter = true});
}

TEST_CASE("the engines agree on passes whose collectives are simulated individually", "[hybrid]") {
  compare({.tp = 2, .stragglers = true, .in_full = true});
}

TEST_CASE("the engines agree on passes at the pace of other replicas", "[hybrid]") {
  const auto cluster = tests::mesh_cluster(16);
  tests::HybridJob job(schedules::make_schedule("dualpipe", {.devices = 4, .microbatches = 16}),
                       {.ep = 2, .dp = 2, .replicas_together = true});
  job.add_call(schedules::PassKind::forward, {.group = workload::Group::ep,
                                              .collective = workload::Collective::all_to_all,
                                              .bytes = 1'000'000});
  job.slowdown.assign(8, 1);
  job.slowdown[5] = 1.5;
  job.conditions.variation.jitter = 0.1;
  check_same(job.run(cluster), job.run(cluster, EngineKind::timing));
}
