#include "sim/execution/pass_work.hpp"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "tests/sim/cluster/in_child.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using Distribution = config::Variation::Distribution;
using tests::step_of;

namespace {

// A job of two devices and two replicas with 10 M parameters per stage, whose gradients are reduced
// after the last pass.
struct Job : tests::HybridJob {
  Job()
      : HybridJob(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 8}), {.dp = 2}) {
    set_parameters(10'000'000);
    communication().overlap_grad_reduce = false;
    communication().global_norm = false;
  }
};

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments(const execution::Job& job, std::uint32_t count) {
  double sum = 0;
  double squares = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    const double factor = execution::noise(job, {.replica = k % 2, .device = k / 2 % 2},
                                           {schedules::PassKind::forward, 1, k / 4});
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

// Returns the times of all passes as hexadecimal numbers, which are exact.
std::string passes_with_seed(std::uint32_t seed) {
  return tests::in_child([&] {
    const auto cluster = tests::make_cluster({{2, 2}});
    Job job;
    job.conditions.variation = {.jitter = 0.1, .seed = seed};
    std::string text;
    for (const trace::PassRow& row : job.run(cluster).passes)
      text += fmt::format("{:a} {:a}\n", row.start, row.end);
    return text;
  });
}

}  // namespace

TEST_CASE("noise has mean 1 and the requested deviation", "[noise]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job hybrid;
  constexpr std::uint32_t count = 200'000;
  for (const auto distribution :
       {Distribution::normal, Distribution::lognormal, Distribution::uniform})
    for (const double jitter : {0.01, 0.2})
      for (const std::uint32_t seed : {1U, 2U, 77U}) {
        hybrid.conditions.variation = {
            .jitter = jitter, .distribution = distribution, .seed = seed};
        const Moments actual = moments(hybrid.job(cluster), count);
        CAPTURE(static_cast<int>(distribution), jitter, seed);
        CHECK(std::abs(actual.mean - 1) < 3 * jitter / std::sqrt(count));
        CHECK(actual.deviation == Approx(jitter).epsilon(0.02));
      }
}

TEST_CASE("noise has mean 1 even where it is clamped at zero", "[noise]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job hybrid;
  constexpr std::uint32_t count = 200'000;
  for (const auto distribution :
       {Distribution::normal, Distribution::lognormal, Distribution::uniform}) {
    hybrid.conditions.variation = {.jitter = 1, .distribution = distribution};
    CAPTURE(static_cast<int>(distribution));
    CHECK(std::abs(moments(hybrid.job(cluster), count).mean - 1) < 4 / std::sqrt(count));
  }
}

TEST_CASE("every pass of every unit has its own noise", "[noise]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job hybrid;
  hybrid.conditions.variation = {.jitter = 0.1};
  const execution::Job job = hybrid.job(cluster);
  std::set<double> values;
  for (const std::uint32_t replica : {0U, 1U})
    for (const std::uint16_t stage : {std::uint16_t{0}, std::uint16_t{1}})
      for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward})
        for (std::uint32_t k = 0; k < 100; ++k)
          values.insert(execution::noise(job, {replica, stage}, {kind, stage, k}));
  CHECK(values.size() == 800);
}

TEST_CASE("the same seed gives the same times to the last bit, another seed does not", "[noise]") {
  const std::string once = passes_with_seed(7);
  CHECK(once.size() > 500);
  CHECK(passes_with_seed(7) == once);
  CHECK(passes_with_seed(8) != once);
}

TEST_CASE("a slow device of one replica delays the others at the reduction", "[noise]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  const double part = 40e6 / tests::nic + 2 * tests::outside;
  Job job;
  job.communication().bucket = 40'000'000;
  const auto fast = job.run(cluster);
  job.slowdown = {1, 1, 2, 1};  // the first device of the second replica
  const auto delayed = job.run(cluster);

  tests::HybridJob alone(job.schedule, {});
  alone.slowdown = {2, 1};
  const auto slow = alone.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    CAPTURE(device);
    // Only the other replica is delayed, so the passes of this one end as in the fast run, but its
    // reductions wait.
    CHECK(step_of(delayed, device).start == Approx(step_of(fast, device).start).epsilon(1e-9));
    CHECK(step_of(delayed, device).reduced ==
          Approx(step_of(slow, device).start + part).epsilon(1e-9));
    CHECK(step_of(delayed, device).reduced > step_of(fast, device).reduced + 7);
  }
}

TEST_CASE("a link with half the bandwidth halves the rate of a reduction", "[noise]") {
  auto cluster = tests::make_cluster({{2, 2}});
  cluster.scale_link("nic-0-0", 0.5);
  Job job;
  job.communication().bucket = 40'000'000;
  const auto trace = job.run(cluster);
  const auto seconds = [&](std::uint32_t device) {
    const trace::StepRow& step = step_of(trace, device);
    return step.reduced - step.start;
  };
  CHECK(seconds(0) == Approx(2 * 40e6 / tests::nic + 2 * tests::outside).epsilon(1e-6));
  CHECK(seconds(1) == Approx(40e6 / tests::nic + 2 * tests::outside).epsilon(1e-6));
}

TEST_CASE("a failed link that a job needs is named", "[noise]") {
  auto cluster = tests::make_cluster({{2, 2}});
  cluster.scale_link("nic-1-1", 0);
  const Job job;
  std::string error;
  try {
    job.run(cluster);
  } catch (const cluster::Error& caught) {
    error = caught.what();
  }
  CHECK(error ==
        "link 'nic-1-1_DOWN' has failed, and no other route leads from 'node-0-gpu-1' to "
        "'node-1-gpu-1'");
}

TEST_CASE("the timing engine refuses variation where replicas wait for each other between passes",
          "[noise]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job job;
  job.conditions.variation.jitter = 0.1;
  job.conditions.zero = 2;
  CHECK_THROWS_WITH(
      job.run(cluster, execution::EngineKind::timing),
      "the timing engine does not support jitter, stragglers or lengths with ZeRO-2 and ZeRO-3, "
      "where replicas wait for each other between passes; use engine: simgrid (--engine simgrid), "
      "or leave that out");
}
