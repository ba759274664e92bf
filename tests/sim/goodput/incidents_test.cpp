#include "sim/goodput/incidents.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace pipewright::goodput;

namespace {

constexpr double day = 86400;

Setting of(double shape, std::uint32_t units) {
  Setting setting{.nodes = units};
  // Each unit fails once in ten days on average.
  setting.failures = {{.name = "node", .rate = units / (10 * day), .shape = shape, .units = units}};
  return setting;
}

// Returns the number of failures in the first day, as a mean over seeds.
double first_day(const Setting& setting, int seeds) {
  double count = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Incidents incidents(setting, static_cast<std::uint64_t>(seed));
    for (; incidents.next() < day; incidents.take()) ++count;
  }
  return count / seeds;
}

}  // namespace

TEST_CASE("failures have their rate from the first day on for every shape") {
  const double shape = GENERATE(0.6, 1.0, 2.0, 4.0);
  constexpr int seeds = 400;
  constexpr double expected = 50 / 10.0;
  // Counts over many units are nearly Poisson; the tolerance is four standard deviations of the
  // mean.
  CHECK(std::abs(first_day(of(shape, 50), seeds) - expected) < 4 * std::sqrt(expected / seeds));
}

TEST_CASE("the rate of one unit is the same after a hundred days") {
  const double shape = GENERATE(0.7, 1.0, 3.0);
  double count = 0;
  constexpr int seeds = 300;
  for (int seed = 1; seed <= seeds; ++seed) {
    Incidents incidents(of(shape, 1), static_cast<std::uint64_t>(seed));
    for (; incidents.next() < 100 * day; incidents.take()) ++count;
  }
  // The variance of counts over their mean is the Weibull variance over its squared mean (Cox
  // 1962).
  const double first = std::tgamma(1 + 1 / shape);
  const double dispersion = std::tgamma(1 + 2 / shape) / (first * first) - 1;
  CHECK(std::abs(count / seeds - 10) < 4 * std::sqrt(10 * dispersion / seeds) + 0.1);
}

TEST_CASE("stragglers do not change the failures of a seed") {
  Setting with = of(1, 50);
  with.straggler_rate = 1e-3;
  with.straggler_lasts = 60;
  const Setting plain = of(1, 50);
  Incidents reference(plain, 7);
  Incidents changed(with, 7);
  for (int i = 0; i < 20; ++i) {
    Incident incident = changed.take();
    while (incident.type != Incident::Type::failure) incident = changed.take();
    CHECK(incident.at == reference.take().at);
  }
}

TEST_CASE("failures of a trace are merged with random failures in order of time") {
  Setting setting;
  setting.trace = {{10, {.name = "gpu"}}, {20, {.name = "node"}}};
  Incidents incidents(setting, 1);
  CHECK(incidents.take().kind->name == "gpu");
  CHECK(incidents.take().at == 20);
  CHECK(incidents.next() == never);
}
