#include "sim/comm/selection.hpp"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "sim/comm/uncertainty.hpp"

using namespace pipewright::comm;
using pipewright::analysis::KeptBecause;

namespace {

// Times as those of a ring by two protocols: launch + steps l + x / b, or launch + steps l r +
// x / (b e), by the logarithms of launch, l, b, r and e; the sixth counts for nothing, and the
// seventh multiplies b as well.
double seconds(std::span<const double> u, double steps, double bytes) {
  const double launch = 8e-6 * std::exp(u[0]);
  const double latency = steps * 3e-6 * std::exp(u[1]);
  const double transfer = bytes / (2e11 * std::exp(u[2] + u[6]));
  return launch + std::min(latency + transfer,
                           latency * 0.2 * std::exp(u[3]) + transfer / (0.4 * std::exp(u[4])));
}
// Of 8 B to 1 GiB over 4 and over 16 ranks.
std::vector<double> all_seconds(std::span<const double> u) {
  std::vector<double> times;
  for (const double steps : {6.0, 30.0})
    for (int i = 3; i <= 30; ++i) times.push_back(seconds(u, steps, std::ldexp(1, i)));
  return times;
}
const std::vector<Unknown> all(7, Unknown{0, -5, 5, 0});

ChoiceResiduals against(const std::vector<double>& measured) {
  return [measured](std::span<const std::size_t> chosen, std::span<const double> values) {
    std::vector<double> u(7);
    for (std::size_t i = 0; i < chosen.size(); ++i) u[chosen[i]] = values[i];
    std::vector<double> misses = all_seconds(u);
    for (std::size_t i = 0; i < misses.size(); ++i) misses[i] = std::log(misses[i] / measured[i]);
    return misses;
  };
}

std::vector<double> measure(const std::vector<double>& u, double noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> times = all_seconds(u);
  if (noise > 0)
    for (double& time : times) time *= std::exp(normal(random));
  return times;
}

}  // namespace

TEST_CASE("what needs no change is not changed", "[fit]") {
  const Selection exact = select(against(measure({0, 0, 0, 0, 0, 0, 0}, 0)), all, {});
  CHECK(exact.chosen.empty());
  CHECK(select(against(measure({0, 0, 0, 0, 0, 0, 0}, 0.03)), all, {}).chosen.empty());
}

TEST_CASE("what was changed is found, and nothing else", "[fit]") {
  const std::vector<double> truth{1.1, 0, 0, 0, -0.7, 0, 0};
  const Selection found = select(against(measure(truth, 0)), all, {});
  REQUIRE(found.chosen == std::vector<std::size_t>{0, 4});
  CHECK(found.fit.unknowns[0] == Approx(1.1).margin(1e-3));
  CHECK(found.fit.unknowns[1] == Approx(-0.7).margin(1e-3));
  const Selection noisy = select(against(measure(truth, 0.02)), all, {});
  CHECK(noisy.chosen == std::vector<std::size_t>{0, 4});
}

TEST_CASE("several that are off by a factor of 3 are found exactly", "[fit]") {
  for (const double sign : {-1.0, 1.0}) {
    const double far = sign * std::log(3.0);
    const std::vector<double> truth{far, -far, far, 0, 0, 0, 0};
    const Selection found = select(against(measure(truth, 0)), all, {});
    std::vector<double> values(7);
    for (std::size_t i = 0; i < found.chosen.size(); ++i)
      values[found.chosen[i]] = found.fit.unknowns[i];
    CHECK(values[0] == Approx(far).margin(0.01));
    CHECK(values[1] + values[3] == Approx(-far).margin(0.01));
    CHECK(values[2] + values[6] == Approx(far).margin(0.01));
  }
}

TEST_CASE("no more are chosen than are allowed", "[fit]") {
  const std::vector<double> truth{1, -1, 1, 0.5, -0.5, 0, 0};
  for (const std::size_t most : {1U, 2U, 3U}) {
    const Selection found = select(against(measure(truth, 0)), all, {.most = most});
    CHECK(found.chosen.size() == most);
  }
}

TEST_CASE("progress rises to the end, and can end the search", "[fit]") {
  struct Enough {};
  double last = 0;
  select(against(measure({1, -1, 1, 0, 0, 0, 0}, 0.01)), all,
         {.most = 3, .progress = [&](double s) {
            CHECK(s >= last);
            last = s;
          }});
  CHECK(last == Approx(1));
  CHECK_THROWS_AS(select(against(measure({1, 0, 0, 0, 0, 0, 0}, 0)), all,
                         {.progress = [](double) { throw Enough(); }}),
                  Enough);
}

TEST_CASE("what the rows say nothing of, and what is like another, is told", "[fit]") {
  const std::vector<double> truth{0, 0, 0.8, 0, 0, 0, 0};
  const ChoiceResiduals residuals = against(measure(truth, 0.01));
  const Selection found = select(residuals, all, {.most = 1});
  REQUIRE(found.chosen.size() == 1);
  CHECK((found.chosen[0] == 2 || found.chosen[0] == 6));
  for (const Unchosen& one : look_at_unchosen(residuals, all, found)) {
    if (one.candidate == 5) CHECK(one.why == KeptBecause::no_trace);
    if (one.candidate == 2 || one.candidate == 6) {
      CHECK(one.why == KeptBecause::likeness);
      CHECK(one.like == found.chosen[0]);
    }
    if (one.candidate == 0) CHECK(one.why == KeptBecause::no_gain);
  }
}

TEST_CASE("chosen ones that only count together are named", "[fit]") {
  const ChoiceResiduals residuals = against(measure({0, 0, 0.8, 0, 0, 0, 0}, 0.01));
  const Selection both = fit_chosen(residuals, all, {0, 2, 6});
  CHECK(both.fit.unknowns[1] + both.fit.unknowns[2] == Approx(0.8).margin(0.02));
  const std::vector<IndistinctPair> pairs = indistinct(both);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].one == 2);
  CHECK(pairs[0].other == 6);
  CHECK(pairs[0].correlation < -0.99);
}
