
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"
#include "tests/sim/cluster/in_child.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Runs random hybrid jobs on a small cluster whose NICs and uplinks carry all traffic. Checks that
// every job ends, and that repeating it gives the same rows.

using namespace pipewright;

namespace {

tests::Layout random_layout(tests::Random& random, std::uint32_t gpus_of_stage, bool shards) {
  tests::Layout layout{.zero = random.whole(0, shards ? 3 : 1), .replicas_together = random.flip()};
  while (gpus_of_stage > 1) {
    std::uint32_t* const axis[] = {&layout.tp, &layout.cp, &layout.dp, &layout.dp};
    *axis[random.whole(0, 3)] *= 2;
    gpus_of_stage /= 2;
  }
  if (layout.dp * layout.cp > 1 && random.flip()) layout.ep = 2;
  // Experts of a stage stay on the ranks of the stage only if cp and ep do not stride over pp.
  if (!layout.replicas_together) layout.ep = layout.cp;
  return layout;
}

void randomize(tests::HybridJob& job, tests::Random& random) {
  using schedules::PassKind;
  for (auto& times_by_stage : job.costs.times.of_stage)
    for (double& seconds : times_by_stage) seconds = random.real(1e-3, 10e-3);
  job.costs.boundary_bytes = random.whole(0, 2) * 4'000'000;
  job.costs.activations.assign(job.schedule.stages(), {.held = 100});
  job.costs.gathered.assign(job.schedule.stages(), 1'500'000);
  for (workload::StageTraffic& stage : job.costs.traffic) {
    stage.parameters = random.whole(0, 3) * 1'000'000;
    stage.expert_parameters = random.whole(0, 1) * 2'000'000;
  }
  if (random.flip())
    for (workload::StageTraffic* stage : {&job.costs.traffic.front(), &job.costs.traffic.back()})
      stage->embedding_parameters = stage->parameters = 700'000;
  for (const auto group : {workload::Group::tp, workload::Group::cp, workload::Group::ep})
    for (const auto kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
      job.add_call(kind, {.group = group,
                          .collective = static_cast<workload::Collective>(random.whole(0, 4)),
                          .bytes = random.whole(0, 2) * 500'000,
                          .times = random.whole(1, 3),
                          .overlappable_compute = random.flip() ? 1e-3 : 0});
  config::Communication& communication = job.communication();
  communication.overlap_grad_reduce = random.flip();
  communication.overlap_param_gather = random.flip();
  communication.global_norm = random.flip();
  communication.bucket = random.whole(1, 6) * 1'000'000;
  communication.all_reduce = static_cast<config::Algorithm>(random.whole(0, 4));
  communication.overlap_slowdown = random.flip() ? 1.2 : 1;
  communication.detail = random.flip() ? config::Detail::full : config::Detail::fast;
  if (random.flip()) job.conditions.variation = {.jitter = 0.2, .seed = random.whole(1, 9)};
  if (random.flip()) {
    job.slowdown.assign(std::size_t{job.ranks.replicas()} * job.schedule.devices, 1);
    job.slowdown[random.whole(0, static_cast<std::uint32_t>(job.slowdown.size()) - 1)] = 1.5;
  }
  job.p2p = static_cast<schedules::P2p>(random.whole(0, 2));
}

template <class Row, class... Times>
void append(std::string& text, const std::vector<Row>& rows, Times... times) {
  for (const Row& row : rows) {
    text += fmt::format("{}", row.device);
    ((text += fmt::format(" {:a}", row.*times)), ...);
    text += '\n';
  }
}

std::string rows_of_random_jobs() {
  const auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 15});
  tests::Random random(4711);
  std::string text;
  int jobs = 0;
  while (jobs < 200) {
    const auto catalog = schedules::catalog();
    const schedules::Entry& entry =
        catalog[random.whole(0, static_cast<std::uint32_t>(catalog.size()) - 1)];
    const std::uint32_t devices = 1U << random.whole(0, 2);
    std::optional<schedules::Schedule> schedule;
    try {
      schedule = entry.make({.devices = devices,
                             .microbatches = 2 * random.whole(1, 4),
                             .iterations = random.whole(1, 2)});
    } catch (const schedules::Error&) {
      continue;
    }
    const bool shards = schedule->routes.count() == 1;
    tests::HybridJob job(std::move(*schedule), random_layout(random, 16 / devices, shards));
    randomize(job, random);
    text += fmt::format("{} {} devices\n", entry.name, devices);
    try {
      const trace::Trace trace = job.run(cluster);
      using namespace trace;
      append(text, trace.passes, &PassRow::ready, &PassRow::start, &PassRow::end);
      append(text, trace.collectives, &CollectiveRow::posted, &CollectiveRow::start,
             &CollectiveRow::end);
      append(text, trace.steps, &StepRow::reduced, &StepRow::updated, &StepRow::end);
      append(text, trace.memory, &MemoryRow::time);
    } catch (const std::exception& error) {
      const config::Communication& communication = job.communication();
      return fmt::format(
          "job {}, {} on {} devices, {} iterations, ZeRO-{}, {} replicas of {} lanes, ep {}, {} "
          "detail, slowdown {}, p2p {}, algorithm {}, overlap {} {}: {}",
          jobs, entry.name, devices, job.schedule.iterations, job.conditions.zero,
          job.ranks.replicas(), job.ranks.ranks_per_stage(),
          job.ranks.group_size(workload::Group::ep),
          communication.detail == config::Detail::full ? "full" : "fast",
          communication.overlap_slowdown.value_or(1), static_cast<int>(job.p2p),
          static_cast<int>(communication.all_reduce), communication.overlap_grad_reduce,
          communication.overlap_param_gather, error.what());
    }
    ++jobs;
  }
  return text;
}

}  // namespace

TEST_CASE("two hundred random hybrid jobs end and give the same rows twice to the last bit",
          "[hybrid]") {
  const std::string once = tests::in_child(rows_of_random_jobs);
  INFO(once.substr(0, 500));
  REQUIRE(once.size() > 1'000'000);
  CHECK((tests::in_child(rows_of_random_jobs) == once));
}
