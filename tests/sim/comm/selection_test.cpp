#include "sim/comm/selection.hpp"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "sim/comm/uncertainty.hpp"

using namespace pipewright::comm;
using pipewright::analysis::KeptBecause;

namespace {

// Times like those of a ring by two protocols: launch + steps l + x / b, or launch + steps l r + x
// / (b e), in the logarithms of launch, l, b, r and e. The sixth unknown has no effect, and the
// seventh multiplies b as well.
double seconds(std::span<const double> u, double steps, double bytes) {
  const double launch = 8e-6 * std::exp(u[0]);
  const double latency = steps * 3e-6 * std::exp(u[1]);
  const double transfer = bytes / (2e11 * std::exp(u[2] + u[6]));
  return launch + std::min(latency + transfer,
                           latency * 0.2 * std::exp(u[3]) + transfer / (0.4 * std::exp(u[4])));
}
// Returns the times of all sizes from 8 B to 1 GiB over 4 and over 16 ranks.
std::vector<double> all_seconds(std::span<const double> u) {
  std::vector<double> times;
  for (const double steps : {6.0, 30.0})
    for (int i = 3; i <= 30; ++i) times.push_back(seconds(u, steps, std::ldexp(1, i)));
  return times;
}
const std::vector<Unknown> unknowns(7, Unknown{0, -5, 5, 0});

ChoiceResiduals residuals_of(const std::vector<double>& measured) {
  return [measured](std::span<const std::size_t> chosen, std::span<const double> values) {
    std::vector<double> u(7);
    for (std::size_t i = 0; i < chosen.size(); ++i) u[chosen[i]] = values[i];
    std::vector<double> residuals = all_seconds(u);
    for (std::size_t i = 0; i < residuals.size(); ++i)
      residuals[i] = std::log(residuals[i] / measured[i]);
    return residuals;
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

TEST_CASE("nothing is chosen if the measurements match", "[fit]") {
  const Selection exact = select(residuals_of(measure({0, 0, 0, 0, 0, 0, 0}, 0)), unknowns, {});
  CHECK(exact.chosen.empty());
  CHECK(select(residuals_of(measure({0, 0, 0, 0, 0, 0, 0}, 0.03)), unknowns, {}).chosen.empty());
}

TEST_CASE("only the changed unknowns are chosen", "[fit]") {
  const std::vector<double> truth{1.1, 0, 0, 0, -0.7, 0, 0};
  const Selection selection = select(residuals_of(measure(truth, 0)), unknowns, {});
  REQUIRE(selection.chosen == std::vector<std::size_t>{0, 4});
  CHECK(selection.fit.unknowns[0] == Approx(1.1).margin(1e-3));
  CHECK(selection.fit.unknowns[1] == Approx(-0.7).margin(1e-3));
  const Selection noisy = select(residuals_of(measure(truth, 0.02)), unknowns, {});
  CHECK(noisy.chosen == std::vector<std::size_t>{0, 4});
}

TEST_CASE("several unknowns that are wrong by a factor of 3 are found exactly", "[fit]") {
  for (const double sign : {-1.0, 1.0}) {
    const double far = sign * std::log(3.0);
    const std::vector<double> truth{far, -far, far, 0, 0, 0, 0};
    const Selection selection = select(residuals_of(measure(truth, 0)), unknowns, {});
    std::vector<double> values(7);
    for (std::size_t i = 0; i < selection.chosen.size(); ++i)
      values[selection.chosen[i]] = selection.fit.unknowns[i];
    CHECK(values[0] == Approx(far).margin(0.01));
    CHECK(values[1] + values[3] == Approx(-far).margin(0.01));
    CHECK(values[2] + values[6] == Approx(far).margin(0.01));
  }
}

TEST_CASE("the number of chosen candidates is limited", "[fit]") {
  const std::vector<double> truth{1, -1, 1, 0.5, -0.5, 0, 0};
  for (const std::size_t limit : {1U, 2U, 3U}) {
    const Selection selection =
        select(residuals_of(measure(truth, 0)), unknowns, {.max_parameters = limit});
    CHECK(selection.chosen.size() == limit);
  }
}

TEST_CASE("progress increases to 1, and can cancel the search", "[fit]") {
  struct Enough {};
  double last = 0;
  select(residuals_of(measure({1, -1, 1, 0, 0, 0, 0}, 0.01)), unknowns,
         {.max_parameters = 3, .progress = [&](double s) {
            CHECK(s >= last);
            last = s;
          }});
  CHECK(last == Approx(1));
  CHECK_THROWS_AS(select(residuals_of(measure({1, 0, 0, 0, 0, 0, 0}, 0)), unknowns,
                         {.progress = [](double) { throw Enough(); }}),
                  Enough);
}

TEST_CASE("unchosen candidates are reported with the reason", "[fit]") {
  const std::vector<double> truth{0, 0, 0.8, 0, 0, 0, 0};
  const ChoiceResiduals residuals = residuals_of(measure(truth, 0.01));
  const Selection selection = select(residuals, unknowns, {.max_parameters = 1});
  REQUIRE(selection.chosen.size() == 1);
  CHECK((selection.chosen[0] == 2 || selection.chosen[0] == 6));
  for (const Unchosen& unchosen : explain_unchosen(residuals, unknowns, selection)) {
    if (unchosen.candidate == 5) CHECK(unchosen.reason == KeptBecause::no_trace);
    if (unchosen.candidate == 2 || unchosen.candidate == 6) {
      CHECK(unchosen.reason == KeptBecause::likeness);
      CHECK(unchosen.nearest == selection.chosen[0]);
    }
    if (unchosen.candidate == 0) CHECK(unchosen.reason == KeptBecause::no_gain);
  }
}

TEST_CASE("chosen candidates with correlated errors are reported", "[fit]") {
  const ChoiceResiduals residuals = residuals_of(measure({0, 0, 0.8, 0, 0, 0, 0}, 0.01));
  const Selection selection = fit_chosen(residuals, unknowns, {0, 2, 6});
  CHECK(selection.fit.unknowns[1] + selection.fit.unknowns[2] == Approx(0.8).margin(0.02));
  const std::vector<IndistinctPair> pairs = find_indistinct(selection);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first == 2);
  CHECK(pairs[0].second == 6);
  CHECK(pairs[0].correlation < -0.99);
}
