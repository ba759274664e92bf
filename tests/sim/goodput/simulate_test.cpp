#include "sim/goodput/simulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/in_child.hpp"
#include "sim/goodput/closed_forms.hpp"

using namespace pipewright;
using analysis::GoodputOutcome;
using analysis::GoodputPart;
using config::Goodput;
using goodput::Setting;

namespace {

// Setting without failures: eight nodes with two replicas train for 1000 s. They take a checkpoint
// every 100 s, which takes 10 s; a restart takes 30 s and loading 5 s.
Setting plain() {
  return {.nodes = 8,
          .replicas = 2,
          .target = 1000,
          .interval = 100,
          .bytes = 1e9,
          .storage = 1e8,
          .read = 2e8,
          .restart = 30,
          .repair = 1000};
}

Setting with_failures(const std::vector<std::pair<double, std::uint32_t>>& times) {
  Setting setting = plain();
  for (const auto& [at, nodes] : times)
    setting.trace.push_back(
        {at, {.name = "node", .nodes = nodes, .detection = 20, .repair = 1000}});
  return setting;
}

std::vector<GoodputOutcome> outcomes(const Setting& setting, std::size_t seeds) {
  std::vector<std::uint64_t> numbers(seeds);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
  return goodput::simulate(setting, numbers, goodput::Spans::no).outcomes;
}
GoodputOutcome outcome(const Setting& setting) { return outcomes(setting, 1).front(); }

void check(const GoodputOutcome& result, GoodputPart part, double seconds) {
  CAPTURE(analysis::goodput_part_names.at(static_cast<std::size_t>(part)));
  CHECK(result[part] == Approx(seconds).margin(1e-4));
}

struct Sample {
  double mean = 0;
  double error = 0;  // Standard error of the mean.
};
Sample sample_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1) / count)};
}
Sample seconds_of(const std::vector<GoodputOutcome>& jobs) {
  std::vector<double> values;
  values.reserve(jobs.size());
  for (const GoodputOutcome& job : jobs) values.push_back(job.seconds());
  return sample_of(values);
}

}  // namespace

TEST_CASE("without failures training waits only for checkpoints") {
  const GoodputOutcome result = outcome(plain());
  check(result, GoodputPart::training, 1000);
  check(result, GoodputPart::checkpoint, 9 * 10);  // There is no checkpoint at the end.
  CHECK(result.seconds() == Approx(1090));
  CHECK(result.checkpoints == 9);
}

TEST_CASE("a failure loses the training since the last checkpoint and costs a restart") {
  // The failure at 150 s comes 40 s after the end of the checkpoint that was written from 100 to
  // 110 s.
  const GoodputOutcome result = outcome(with_failures({{150, 1}}));
  check(result, GoodputPart::lost, 40);
  check(result, GoodputPart::detection, 20);
  check(result, GoodputPart::restart, 30);
  check(result, GoodputPart::loading, 5);
  CHECK(result.seconds() == Approx(1090 + 40 + 20 + 30 + 5));
  CHECK(result.interruptions == 1);
}

TEST_CASE("a failure during a checkpoint makes it void") {
  // The failure at 105 s interrupts the first checkpoint, so 100 s of training and 5 s of writing
  // are lost.
  const GoodputOutcome result = outcome(with_failures({{105, 1}}));
  check(result, GoodputPart::lost, 100);
  check(result, GoodputPart::checkpoint, 9 * 10 + 5);
}

TEST_CASE("a failure during a restart begins it again") {
  // The second failure, at 180 s, interrupts the restart: the first failure was detected at 170 s.
  const GoodputOutcome result = outcome(with_failures({{150, 1}, {180, 1}}));
  check(result, GoodputPart::lost, 40);
  check(result, GoodputPart::detection, 40);
  check(result, GoodputPart::restart, 10 + 30);
}

TEST_CASE("without a spare the job waits for the repair") {
  Setting setting = with_failures({{150, 1}});
  setting.spares = 0;
  // The node is out from 150 s to 1150 s. Of that, 20 s count as detection and the rest as waiting.
  check(outcome(setting), GoodputPart::waiting, 980);
}

TEST_CASE("a spare takes the place of a failed node, and a second failure waits for the first") {
  Setting setting = with_failures({{150, 1}, {250, 1}});
  setting.spares = 1;
  // The first node is back at 1150 s; the second failed at 250 s and is noticed at 270 s.
  check(outcome(setting), GoodputPart::waiting, 1150 - 270);
}

TEST_CASE("an elastic job continues with fewer replicas until the node is repaired") {
  Setting setting = with_failures({{150, 1}});
  setting.spares = 0;
  setting.elastic = true;
  const GoodputOutcome result = outcome(setting);
  check(result, GoodputPart::waiting, 0);
  // From 205 s on, the job runs at half speed: a checkpoint every 200 s, and 10 s to write it. The
  // node is back at 1150 s, in the fifth segment, whose checkpoint ends at 205 + 5 * 210 s = 1255
  // s. Then the job restarts, loads again and continues at full speed.
  check(result, GoodputPart::slowed, 500);
  check(result, GoodputPart::restart, 60);
  check(result, GoodputPart::loading, 10);
}

TEST_CASE("an asynchronous checkpoint stops training only for the copy and counts when complete") {
  Setting setting = with_failures({{205, 1}});
  setting.mode = Goodput::Mode::async;
  setting.copy = 2;
  // Copies to memory end at 102 and 204 s. The second copy would be written by 214 s, but the
  // failure comes earlier.
  const GoodputOutcome result = outcome(setting);
  check(result, GoodputPart::lost, 101);
  check(result, GoodputPart::checkpoint, 2 * 10);  // Nine steps, and the second step again.
}

TEST_CASE("a checkpoint waits for the previous checkpoint") {
  Setting setting = plain();
  setting.mode = Goodput::Mode::async;
  setting.copy = 2;
  setting.storage = 1e9 / 150;  // 150 s per write.
  // A checkpoint is written 150 s after its copy. Training continues for 100 s of that, then waits
  // for 50 s.
  check(outcome(setting), GoodputPart::checkpoint, 9 * 2 + 8 * 50);
}

TEST_CASE("training gets its fair share of a network that it shares with a checkpoint") {
  Setting setting = plain();
  setting.mode = Goodput::Mode::async;
  setting.network = 100e6;
  setting.traffic = 80e6;
  setting.storage = 1e9;
  setting.target = 150;
  // From 100 s on, both have 50 MB/s. The write of 1 GB takes 20 s; training needs 80 MB/s and
  // does 12.5 s of work in that time.
  check(outcome(setting), GoodputPart::slowed, 7.5);
}

TEST_CASE("after a failure of one node the job loads the newer state of a peer") {
  Setting setting = with_failures({{175, 1}});
  setting.mode = Goodput::Mode::peer;
  setting.peer_interval = 20;
  setting.peer = 1;
  const GoodputOutcome job = outcome(setting);
  check(job, GoodputPart::lost, 15);  // Since 160 s.
  check(job, GoodputPart::loading, 1);
}

TEST_CASE("after a failure of two nodes the job loads the state of the storage") {
  Setting setting = with_failures({{175, 2}});
  setting.mode = Goodput::Mode::peer;
  setting.peer_interval = 20;
  setting.peer = 1;
  const GoodputOutcome two = outcome(setting);
  check(two, GoodputPart::lost, 75);  // Since the checkpoint at 100 s.
  check(two, GoodputPart::loading, 5);
}

TEST_CASE("silent corruption loses the training since the last checkpoint before it") {
  Setting setting = plain();
  setting.target = 20000;
  setting.corruption_rate = 1.0 / 5000;
  setting.corruption_found_after = 400;
  const std::vector<GoodputOutcome> result = outcomes(setting, 40);
  double lost = 0;
  double count = 0;
  for (const GoodputOutcome& job : result) {
    lost += job[GoodputPart::lost];
    count += static_cast<double>(job.corruptions);
  }
  REQUIRE(count > 100);
  // A corruption is noticed 400 s after it on average. It loses the training in that time (100 s
  // per 110 s) and half an interval before it. The tolerance is four standard errors of an
  // exponential distribution.
  const double expected = 400 / 1.1 + 50;
  CHECK(std::abs(lost / count - expected) < 4 * 400 / 1.1 / std::sqrt(count));
}

TEST_CASE("a straggler slows the whole job while it is slow") {
  Setting setting = plain();
  setting.target = 1e5;
  setting.straggler_rate = 1.0 / 2000;
  setting.straggler_lasts = 200;
  setting.straggler_factor = 1.5;
  const std::vector<GoodputOutcome> result = outcomes(setting, 40);
  // The fraction of time in which a straggler slows training down is 1 - e^-0.1, the probability
  // that an M/M/infinity queue is not empty.
  const double slow = 1 - std::exp(-0.1);
  std::vector<double> slowed;
  for (const GoodputOutcome& job : result) {
    const double trains = job[GoodputPart::training] + job[GoodputPart::slowed];
    slowed.push_back(job[GoodputPart::slowed] / trains);
  }
  const Sample sample = sample_of(slowed);
  CHECK(std::abs(sample.mean - slow * (1 - 1 / 1.5)) < 4 * sample.error + 0.001);
}

namespace {

void check_daly(double mean) {
  Setting setting = plain();
  setting.target = 50000;
  setting.failures = {{.name = "node", .rate = 1 / mean, .units = 8}};
  const Sample result = seconds_of(outcomes(setting, 200));
  // All intervals end with a checkpoint, except the last one.
  const double restart = 30 + 5;
  const double segment = 100 / goodput::exact_ratio(100, 10, restart, mean);
  const double last = 100 / goodput::exact_ratio(100, 0, restart, mean);
  CHECK(std::abs(result.mean - (499 * segment + last)) < 4 * result.error);
}

}  // namespace

TEST_CASE("the time with exponential failures is that of Daly's model") { check_daly(2000); }

TEST_CASE("the time is that of Daly's model even if most segments fail") { check_daly(300); }

namespace {

// Reference simulation without SimGrid, which steps from failure to failure: eight nodes in
// stationary state with Weibull failures, and checkpoints of `stall` seconds.
double stepped(std::uint64_t seed, double mean, double shape, const Setting& setting) {
  std::mt19937_64 engine(seed);
  const double scale = mean / std::tgamma(1 + 1 / shape);
  std::weibull_distribution<double> gaps(shape, scale);
  std::array<double, 8> next{};
  for (double& at : next) {
    // Starting long before time 0 gives the nodes ages of the stationary distribution at time 0.
    at = -50 * mean;
    while (at < 0) at += gaps(engine);
  }
  const double restart = setting.restart + setting.bytes / setting.read;
  const double stall = setting.bytes / setting.storage;
  double now = 0;
  double saved = 0;
  while (saved < setting.target) {
    auto* const failing = std::min_element(next.begin(), next.end());
    const double work = std::min(setting.interval, setting.target - saved);
    const bool last = saved + work >= setting.target;
    const double end = now + work + (last ? 0 : stall);
    if (end <= *failing) {
      now = end;
      saved += work;
      continue;
    }
    now = *failing;
    *failing += gaps(engine);
    for (;;) {  // A failure during the restart begins it again.
      auto* const earliest = std::min_element(next.begin(), next.end());
      if (*earliest >= now + restart) break;
      now = *earliest;
      *earliest += gaps(engine);
    }
    now += restart;
  }
  return now;
}

void check_by_hand(double shape) {
  constexpr double mean = 8 * 1000;  // Of a node.
  Setting setting = plain();
  setting.target = 30000;
  setting.failures = {{.name = "node", .rate = 8 / mean, .shape = shape, .units = 8}};
  const Sample result = seconds_of(outcomes(setting, 200));
  std::vector<double> values;
  for (std::uint64_t seed = 1; seed <= 400; ++seed)
    values.push_back(stepped(seed, mean, shape, setting));
  const Sample expected = sample_of(values);
  CHECK(std::abs(result.mean - expected.mean) < 4 * std::hypot(result.error, expected.error));
}

}  // namespace

TEST_CASE("the time with decreasing failure rates is that of the reference simulation") {
  check_by_hand(0.6);
}

TEST_CASE("the time with increasing failure rates is that of the reference simulation") {
  check_by_hand(2.5);
}

TEST_CASE("skipped steps take as long as simulated steps") {
  const auto mode = GENERATE(Goodput::Mode::sync, Goodput::Mode::async, Goodput::Mode::peer);
  Setting setting = plain();
  setting.mode = mode;
  setting.copy = 2;
  setting.peer = 3;
  setting.peer_interval = 25;
  setting.target = 200000;
  setting.spares = 1;
  setting.elastic = true;
  setting.straggler_rate = 1.0 / 7000;
  setting.straggler_lasts = 900;
  setting.straggler_factor = 1.3;
  setting.corruption_rate = 1.0 / 40000;
  setting.corruption_found_after = 500;
  setting.failures = {
      {.name = "node", .rate = 1.0 / 5000, .units = 8, .detection = 10, .repair = 4000}};
  const auto job = [&](goodput::Spans spans) {
    return tests::in_child([&] {
      const std::vector<std::uint64_t> seeds{3};
      const GoodputOutcome result = goodput::simulate(setting, seeds, spans).outcomes.front();
      return fmt::format("{:.3f} {} {} {}", fmt::join(result.parts, " "), result.interruptions,
                         result.corruptions, result.checkpoints);
    });
  };
  CHECK(job(goodput::Spans::no) == job(goodput::Spans::yes));
}

TEST_CASE("a run ends on time and all of its time is accounted for") {
  Setting setting = plain();
  setting.target = goodput::never;
  setting.duration = 30 * 86400;
  setting.spares = 1;
  setting.failures = {{.name = "node", .rate = 1.0 / 20000, .units = 8, .repair = 40000}};
  const std::vector<std::uint64_t> seeds{5};
  const goodput::Simulated result = goodput::simulate(setting, seeds, goodput::Spans::yes);
  CHECK(result.outcomes.front().seconds() == Approx(setting.duration));
  double at = 0;
  for (const analysis::GoodputSpan& span : result.spans.front()) {
    CHECK(span.start == Approx(at).margin(1e-3));
    at = span.end;
  }
  CHECK(at == Approx(setting.duration));
}

TEST_CASE("spans with fewer replicas have the training of the run", "[goodput]") {
  Setting setting = plain();
  setting.target = goodput::never;
  setting.duration = 30 * 86400;
  setting.spares = 1;
  setting.elastic = true;
  setting.failures = {{.name = "node", .rate = 1.0 / 20000, .units = 8, .repair = 40000}};
  const std::vector<std::uint64_t> seeds{5};
  const goodput::Simulated result = goodput::simulate(setting, seeds, goodput::Spans::yes);
  const GoodputOutcome& run = result.outcomes.front();
  REQUIRE(run[GoodputPart::slowed] > 0);
  double trained = 0;
  bool has_slowed = false;
  for (const analysis::GoodputSpan& span : result.spans.front()) {
    trained += span.trained;
    CHECK(span.trained <= span.end - span.start + 1e-3);
    if (span.part == GoodputPart::lost) CHECK(span.trained == 0);
    has_slowed = has_slowed || span.part == GoodputPart::slowed;
  }
  CHECK(has_slowed);
  CHECK(trained == Approx(run[GoodputPart::training]).epsilon(1e-6));
}

TEST_CASE("a planned stop loses nothing", "[goodput]") {
  // Until the first stop at 1000 s there are 9 intervals of 110 s and 10 s of training, which are
  // stored in 10 s. The stop takes 200 s, restart 30 s and loading 5 s. Until 2000 s there are 6
  // intervals and 95 s. The third stop, at 2999 s, differs by one second.
  Setting setting = plain();
  setting.target = goodput::never;
  setting.duration = 2999;
  setting.planned_every = 1000;
  setting.planned_lasts = 200;
  const GoodputOutcome result = outcome(setting);
  check(result, GoodputPart::training, 910 + 695 + 694);
  check(result, GoodputPart::lost, 0);
  check(result, GoodputPart::planned, 400);
  check(result, GoodputPart::checkpoint, 90 + 10 + 60 + 10 + 60);
  check(result, GoodputPart::restart, 60);
  check(result, GoodputPart::loading, 10);
  CHECK(result.interruptions == 0);
}

TEST_CASE("Daly's model holds for the time that planned stops leave", "[goodput]") {
  constexpr double day = 86400;
  Setting setting = plain();
  setting.target = goodput::never;
  setting.duration = 60.75 * day;
  setting.interval = 900;
  setting.failures = {{.name = "node", .rate = 2 / day}};
  setting.planned_every = 1.5 * day;
  setting.planned_lasts = 5400;
  std::vector<double> ratios;
  for (const GoodputOutcome& job : outcomes(setting, 60)) ratios.push_back(job.ratio());
  const Sample result = sample_of(ratios);
  const double model =
      (1 - goodput::planned_part(setting, 35)) * goodput::exact_ratio(900, 10, 35, 0.5 * day);
  CHECK(std::abs(result.mean - model) < 4 * result.error + 1e-3);
  CHECK(goodput::planned_part(setting, 35) == Approx((10 + 5400 + 35) / (1.5 * day)));
}
