#include "analysis/report/why/slack.hpp"

#include <array>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"
#include "tests/analysis/report/why/random_runs.hpp"
#include "tests/analysis/report/why/timed_runs.hpp"

using namespace pipewright;
using schedules::P2p;

namespace {

void check_same_makespan(const trace::Trace& trace, const std::string& what) {
  INFO(what);
  const double makespan = analysis::summarize(trace).makespan_s;
  CHECK(analysis::Retiming(analysis::TraceIndex(trace)).makespan() ==
        Approx(makespan).epsilon(1e-7));
}

double makespan(const trace::Trace& trace) { return analysis::summarize(trace).makespan_s; }

}  // namespace

TEST_CASE("retiming a trace reproduces its makespan", "[why]") {
  CHECK(tests::random_pipelines(check_same_makespan) > 150);
}

TEST_CASE("retiming a data-parallel trace reproduces its makespan", "[why]") {
  CHECK(tests::random_hybrids(check_same_makespan) > 100);
}

TEST_CASE("a stage can slow down by its slack and no more", "[why]") {
  std::mt19937 generator(1609);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator);
  };
  int checked = 0;
  int with_slack = 0;
  for (const schedules::Entry& entry : schedules::catalog())
    for (const P2p mode : {P2p::eager, P2p::rendezvous, P2p::blocking, P2p::steady}) {
      schedules::Parameters parameters{.devices = 4, .microbatches = 8};
      if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = 2;
      const schedules::Schedule schedule = entry.make(parameters);
      // A trace does not say how the time of a fused pair is divided between its two passes.
      if (schedules::has_fused_pairs(schedule)) continue;
      schedules::PassTimes times;
      for (auto& of_stage : times.of_stage)
        for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
          of_stage.push_back(real(1, 2));
      const double latency = real(0, 0.3);
      const trace::Trace trace = tests::timed_run(schedule, times, latency, mode);
      const double before = makespan(trace);
      const analysis::Slack slack = analysis::slack(trace);
      REQUIRE(slack.stages.size() == schedule.stages());
      const auto with = [&](std::uint32_t stage, double factor) {
        schedules::PassTimes slower = times;
        for (auto& of_stage : slower.of_stage) of_stage[stage] *= factor;
        return makespan(tests::timed_run(schedule, slower, latency, mode));
      };
      CAPTURE(entry.name, static_cast<int>(mode), latency);
      for (const analysis::StageSlack& stage_slack : slack.stages) {
        CAPTURE(stage_slack.stage, stage_slack.slack);
        REQUIRE(std::isfinite(stage_slack.slack));
        CHECK(with(stage_slack.stage, 1 + stage_slack.slack) == Approx(before).epsilon(1e-7));
        CHECK(with(stage_slack.stage, 1 + stage_slack.slack + 0.01) > before * (1 + 1e-5));
        CHECK(stage_slack.seconds == Approx(stage_slack.slack * stage_slack.mean_pass_s));
        with_slack += stage_slack.slack > 0.001;
        ++checked;
      }
      REQUIRE(slack.links.size() == 1);
      const double of_links = slack.links.front().slack;
      CAPTURE(of_links);
      CHECK(makespan(tests::timed_run(schedule, times, latency * (1 + of_links), mode)) ==
            Approx(before).epsilon(1e-7));
      CHECK(makespan(tests::timed_run(schedule, times, latency * (1 + of_links) + 0.01, mode)) >
            before * (1 + 1e-5));
    }
  CHECK(checked > 100);
  CHECK(with_slack > 20);
}

TEST_CASE("a slower pass computes longer with unchanged collectives", "[why]") {
  const auto schedule = schedules::make_schedule("1f1b", {.devices = 3, .microbatches = 6});
  schedules::PassTimes times = tests::uniform_times(schedule, 1, 1, 1);
  const std::array kinds{static_cast<std::size_t>(schedules::PassKind::forward),
                         static_cast<std::size_t>(schedules::PassKind::backward)};
  for (const std::size_t kind : kinds) times.of_stage[kind][1] *= 1.3;
  trace::Trace trace = tests::timed_run(schedule, times, 0.1);
  // Seconds that each forward and each backward pass spends waiting instead of computing.
  constexpr double waits = 0.4;
  for (trace::StageRow& row : trace.stages) row.waits_f = row.waits_b = waits;
  const analysis::Slack slack = analysis::slack(trace);
  REQUIRE(slack.stages.size() == 3);
  for (const analysis::StageSlack& stage_slack : slack.stages) {
    schedules::PassTimes slower = times;
    for (const std::size_t kind : kinds)
      slower.of_stage[kind][stage_slack.stage] +=
          0.1 * (times.of_stage[kind][stage_slack.stage] - waits);
    CAPTURE(stage_slack.stage);
    CHECK(stage_slack.cost_s ==
          Approx(makespan(tests::timed_run(schedule, slower, 0.1)) - makespan(trace)));
    CHECK(stage_slack.mean_pass_s == Approx((stage_slack.stage == 1 ? 1.3 : 1) * 1.5 - waits));
  }
}

TEST_CASE("equal stages of 1F1B have no slack", "[why]") {
  for (const analysis::StageSlack& stage_slack :
       analysis::slack(tests::one_f_one_b({1, 1, 1, 1}, 8)).stages) {
    CHECK(stage_slack.slack == 0);
    CHECK(stage_slack.passes == 16);
    CHECK(stage_slack.mean_pass_s == Approx(1.5));
  }
}

TEST_CASE("the cost of a slower stage shows which stage matters", "[why]") {
  const trace::Trace trace = tests::one_f_one_b({1, 1, 2, 1}, 32);
  const analysis::Slack slack = analysis::slack(trace);
  // Stage 2 computes from its first pass on, except for one second of waiting for stage 3.
  CHECK(makespan(trace) == Approx(32 * 6 + 2 * 3 + 1));
  // The second forward pass of stage 2, which takes 2 s, is not on the critical path because of
  // that second.
  CHECK(slack.stages[2].cost_s == Approx(0.1 * (32 * 6 - 2)));
  // Other stages are on the critical path only while the first microbatch travels to stage 2 and
  // the last one back.
  for (const std::uint32_t stage : {0, 1}) CHECK(slack.stages[stage].cost_s == Approx(0.1 * 3));
  for (const std::uint32_t stage : {0, 1, 3}) CHECK(slack.stages[stage].slack == 0);
}

TEST_CASE("a weight gradient that fills a gap has slack", "[why]") {
  // Both devices end with W, device 0 half a second after device 1.
  schedules::Schedule schedule =
      schedules::make_schedule("zb-h1", {.devices = 2, .microbatches = 1});
  schedules::PassTimes times = tests::uniform_times(schedule, 1, 1, 1);
  times.of_stage[static_cast<std::size_t>(schedules::PassKind::weight_grad)][0] = 0.5;
  const trace::Trace trace = tests::timed_run(schedule, times);
  // Stage 0 runs F at 0 s, stage 1 runs F, I and W from 1 to 4 s, and stage 0 runs I from 3 to 4 s
  // and half a second of W.
  CHECK(makespan(trace) == Approx(4.5));
  const analysis::Slack slack = analysis::slack(trace);
  CHECK(slack.stages[0].slack == 0);
  CHECK(slack.stages[1].slack == 0);
  CHECK(slack.links.size() == 1);
  CHECK(std::isinf(slack.links[0].slack));  // its transfers take no time
}
