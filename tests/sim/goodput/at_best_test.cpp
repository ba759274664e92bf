#include "sim/goodput/at_best.hpp"

#include <catch2/catch.hpp>

#include "sim/goodput/runs.hpp"
#include "support/random.hpp"

using namespace pipewright;
using config::Goodput;
using goodput::Setting;

namespace {

constexpr double day = 86400;
constexpr std::uint64_t seeds = 6;

// Nodes that fail some times a week, and a checkpoint every few hours.
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
  for (const auto& one : outcomes.front()) sum += one.ratio();
  return sum / seeds;
}

}  // namespace

TEST_CASE("no job trains more than its bound under the same seeds", "[goodput]") {
  tests::Random random(11);
  for (int i = 0; i < 150; ++i) {
    const Setting setting = random_setting(random);
    CAPTURE(i, config::name_of(setting.mode), setting.elastic, setting.interval, setting.nodes);
    CHECK(simulated(setting) <= goodput::AtBest(1, seeds).ratio(setting));
  }
}

TEST_CASE("where failures are all there is the bound is what is simulated", "[goodput]") {
  tests::Random random(12);
  for (int i = 0; i < 30; ++i) {
    Setting setting = random_setting(random);
    setting.mode = Goodput::Mode::sync;
    setting.elastic = false;
    setting.straggler_rate = setting.corruption_rate = 0;
    setting.planned_every = goodput::never;
    CAPTURE(i, setting.interval, setting.spares.value_or(99));
    CHECK(simulated(setting) == Approx(goodput::AtBest(1, seeds).ratio(setting)).epsilon(1e-6));
  }
}

TEST_CASE("a job that nothing stops trains but for its checkpoints", "[goodput]") {
  // 99 whole steps of a thousand seconds and ten of writing, and 10 s of the next.
  Setting setting{.duration = 100000, .interval = 1000, .bytes = 1e9, .storage = 1e8};
  CHECK(goodput::AtBest(1, 3).ratio(setting) == Approx((99 * 1000 + 10) / 1e5));
  // One failure after 1.5 steps costs half of one, 30 s of restart and 5 s of loading: at 1550 s.
  setting.restart = 30;
  setting.read = 2e8;
  setting.trace = {{1515, {.name = "node"}}};
  CHECK(goodput::AtBest(1, 3).ratio(setting) == Approx((1000 + 97 * 1000 + 480) / 1e5));
}
