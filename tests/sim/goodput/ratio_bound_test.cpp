#include "sim/goodput/ratio_bound.hpp"

#include <catch2/catch.hpp>

#include "sim/goodput/runs.hpp"
#include "support/random.hpp"

using namespace pipewright;
using config::Goodput;
using goodput::Setting;

namespace {

constexpr double day = 86400;
constexpr std::uint64_t seeds = 6;

// Draws settings in which nodes fail several times a week and a checkpoint is written every few
// hours.
Setting random_setting(tests::Random& random) {
  Setting setting{.nodes = 8 * random.whole(1, 4), .replicas = 4, .duration = 20 * day};
  setting.failures = {{.name = "node",
                       .rate = random.real(0.2, 3) / day,
                       .shape = random.flip() ? 1 : random.real(0.5, 3),
                       .units = setting.nodes,
                       .nodes = random.whole(0, 2),
                       .detection = random.real(0, 1800),
                       .repair = random.real(0.05, 2) * day}};
  setting.mode = static_cast<Goodput::Mode>(random.whole(0, 2));
  setting.interval = random.real(600, 20000);
  setting.bytes = 1e12;
  setting.storage = random.real(1e9, 1e10);
  setting.read = random.real(1e9, 1e10);
  setting.copy = random.real(0, 100);
  setting.peer_interval = random.real(60, 600);
  setting.peer = random.real(1, 50);
  setting.restart = random.real(0, 3600);
  setting.repair = day;
  if (random.flip()) setting.spares = random.whole(0, 3);
  setting.elastic = random.flip();
  if (random.flip()) {
    setting.straggler_rate = 1 / day;
    setting.straggler_factor = 1.5;
    setting.straggler_lasts = 7200;
    setting.straggler_replaced_after = 3600;
  }
  if (random.flip()) {
    setting.corruption_rate = 0.2 / day;
    setting.corruption_found_after = 7200;
  }
  if (random.flip()) {
    setting.planned_every = random.real(0.5, 5) * day;
    setting.planned_lasts = random.real(0, 7200);
  }
  if (random.flip())
    for (int i = 0; i < 5; ++i)
      setting.trace.push_back({i * day, {.name = "node", .detection = 60, .repair = 0.5 * day}});
  return setting;
}

double simulated(const Setting& setting) {
  double sum = 0;
  const auto outcomes = goodput::run({{"it", setting, seeds}}, {});
  for (const auto& outcome : outcomes.front()) sum += outcome.ratio();
  return sum / seeds;
}

}  // namespace

TEST_CASE("no simulation exceeds the bound of its seeds", "[goodput]") {
  tests::Random random(11);
  for (int i = 0; i < 150; ++i) {
    const Setting setting = random_setting(random);
    CAPTURE(i, config::name_of(setting.mode), setting.elastic, setting.interval, setting.nodes);
    CHECK(simulated(setting) <= goodput::RatioBound(1, seeds).ratio(setting));
  }
}

TEST_CASE("the bound is exact if failures are the only incidents", "[goodput]") {
  tests::Random random(12);
  for (int i = 0; i < 30; ++i) {
    Setting setting = random_setting(random);
    setting.mode = Goodput::Mode::sync;
    setting.elastic = false;
    setting.straggler_rate = setting.corruption_rate = 0;
    setting.planned_every = goodput::never;
    CAPTURE(i, setting.interval, setting.spares.value_or(99));
    CHECK(simulated(setting) == Approx(goodput::RatioBound(1, seeds).ratio(setting)).epsilon(1e-6));
  }
}

TEST_CASE("without failures only checkpoints take time from training", "[goodput]") {
  // The run consists of 99 intervals of 1000 s of training and 10 s of writing, and of 10 s of
  // training in the next interval.
  Setting setting{.duration = 100000, .interval = 1000, .bytes = 1e9, .storage = 1e8};
  CHECK(goodput::RatioBound(1, 3).ratio(setting) == Approx((99 * 1000 + 10) / 1e5));
  // A failure at 1515 s, in the middle of the second interval, loses half an interval. With 30 s of
  // restart and 5 s of loading, training continues at 1550 s.
  setting.restart = 30;
  setting.read = 2e8;
  setting.trace = {{1515, {.name = "node"}}};
  CHECK(goodput::RatioBound(1, 3).ratio(setting) == Approx((1000 + 97 * 1000 + 480) / 1e5));
}
