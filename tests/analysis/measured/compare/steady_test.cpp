#include "analysis/measured/compare/steady.hpp"

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/measured/compare/log_comparison.hpp"
#include "analysis/trace/error.hpp"
#include "support/random.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::LogIteration;
using analysis::steady_lines;
using analysis::SteadyLines;

namespace {

// Lines of iterations with these times, numbered from `first` in steps of `interval`.
std::vector<LogIteration> timed(const std::vector<double>& times, std::uint64_t first = 1,
                                std::uint64_t interval = 1) {
  std::vector<LogIteration> lines;
  for (const double time : times)
    lines.push_back({.number = first + interval * lines.size(), .elapsed_s = time});
  return lines;
}

double mean(const SteadyLines& steady) { return *spreads_of(steady.lines).at(0).mean.value; }

}  // namespace

TEST_CASE("iterations of warm-up are left out of a log", "[compare]") {
  // The mean of all lines is (60 + 12 + 8 + 7 x 5.45) / 10 = 11.8 s.
  const SteadyLines steady =
      steady_lines(timed({60, 12, 8, 5.45, 5.4, 5.5, 5.45, 5.44, 5.46, 5.45}), {});
  CHECK(steady.warm_up == 3);
  CHECK(mean(steady) == Approx((5.45 * 3 + 5.4 + 5.5 + 5.44 + 5.46) / 7));
  REQUIRE(steady.notes.size() == 1);
  CHECK_THAT(
      steady.notes[0],
      Catch::Contains("iterations 1 to 3 (3 lines) are left out as warm-up: 60.00 s to 8.000 "
                      "s, while later ones have a median of 5.450 s") &&
          Catch::Contains("--skip N"));
  // A first iteration may also be too short, if it does not wait for the GPU.
  CHECK(steady_lines(timed({44.9, 0.3, 5.66, 5.67, 5.66, 5.67}), {}).warm_up == 2);
  CHECK(steady_lines(timed({9, 5}), {}).warm_up == 1);
}

TEST_CASE("a first line that contains the first iteration is left out", "[compare]") {
  // Lines are means over 10 iterations, and the first of 100 iterations is 20 % slower.
  CHECK(steady_lines(timed({5.1, 5, 5, 5}, 10, 10), {}).warm_up == 1);
  CHECK(steady_lines(timed({5.1, 5, 5, 5}, 0), {}).warm_up == 1);
  // These runs began before the log.
  CHECK(steady_lines(timed({5.1, 5, 5, 5}, 57), {}).warm_up == 0);
  CHECK(steady_lines(timed({5.1, 5, 5, 5}, 110, 10), {}).warm_up == 0);
  // Three lines are too few to leave one out that agrees with the others.
  CHECK(steady_lines(timed({5.1, 5, 5}), {}).warm_up == 0);
}

TEST_CASE("rates tell warm-up if a log has no times", "[compare]") {
  std::vector<LogIteration> lines;
  for (const auto& [number, rate] : std::vector<std::pair<std::uint64_t, double>>{
           {1, 217}, {10, 11636}, {20, 11758}, {30, 11533}, {40, 11254}})
    lines.push_back({.number = number, .tokens_per_gpu_s = rate});
  const SteadyLines steady = steady_lines(lines, {});
  CHECK(steady.warm_up == 1);
  CHECK(mean(steady) == Approx((11636 + 11758 + 11533 + 11254) / 4.0));
  CHECK_THAT(steady.notes.at(0),
             Catch::Contains("iteration 1 is left out") && Catch::Contains("217 tokens/s"));
  const analysis::FigureSpread spread = spreads_of(steady.lines).at(0);
  CHECK(spread.least == 11254);
  CHECK(spread.median == Approx((11533 + 11636) / 2.0));
  CHECK(spread.most == 11758);
}

TEST_CASE("rare pauses are left out of a log, and frequent ones are not", "[compare]") {
  std::vector<double> times(20, 5.0);
  times[12] = 60;
  const SteadyLines with_checkpoint = steady_lines(timed(times, 100), {});
  CHECK(with_checkpoint.pauses == 1);
  CHECK(mean(with_checkpoint) == Approx(5));
  CHECK_THAT(with_checkpoint.notes.at(0),
             Catch::Contains("iteration 112 is left out as a pause") && Catch::Contains("60.00 s"));
  for (std::size_t i = 0; i < times.size(); i += 4) times[i] = 9;
  const SteadyLines alternating = steady_lines(timed(times, 100), {});
  CHECK(alternating.pauses == 0);
}

TEST_CASE("the number of lines to leave out can be given", "[compare]") {
  const std::vector<LogIteration> lines = timed({60, 12, 8, 5, 5, 5, 50});
  CHECK(mean(steady_lines(lines, 0)) == Approx((60 + 12 + 8 + 15 + 50) / 7.0));
  CHECK(mean(steady_lines(lines, 2)) == Approx((8 + 15 + 50) / 5.0));
  CHECK(steady_lines(lines, 2).notes.empty());
  CHECK_THROWS_AS(steady_lines(lines, 7), trace::TraceError);
}

TEST_CASE("few lines say what they cannot tell", "[compare]") {
  const SteadyLines single = steady_lines(timed({5}, 100), {});
  CHECK(single.lines.size() == 1);
  CHECK_THAT(single.notes.at(0), Catch::Contains("once, for iteration 100"));
  CHECK(steady_lines({}, {}).lines.empty());
}

TEST_CASE("noise alone leaves out at most the first half, whatever the seed", "[compare]") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    tests::Random random(seed);
    const std::vector<double> times = random.reals(40, 4.9, 5.1);
    const SteadyLines noise = steady_lines(timed(times, 500), {});
    CHECK(noise.warm_up <= 20);
    CHECK(noise.pauses == 0);
    CHECK(mean(noise) == Approx(5).epsilon(0.01));
    // Warm-up that decays from ten times the time changes the mean by less than 1 %, too.
    std::vector<double> decaying = times;
    for (std::size_t i = 0; i < 8; ++i) decaying[i] += 45.0 / static_cast<double>(1U << (2 * i));
    CHECK(mean(steady_lines(timed(decaying), {})) == Approx(5).epsilon(0.01));
  }
}

TEST_CASE("a comparison with a log shows the spread of its steady lines", "[compare]") {
  analysis::TrainingLog log;
  log.runs.push_back({.iterations = timed({60, 10.1, 10.0, 10.2, 10.1, 10.1}), .remarks = {}});
  const auto comparison = compare_log(analysis::figures_of(test::two_device_run(), "p"), log, {});
  CHECK(comparison.iterations == 5);
  CHECK(comparison.timers.at(0).measured->most == Approx(10.1));
  const std::string text = analysis::console_text(comparison);
  CHECK_THAT(text, Catch::Contains("5 iterations (1 left out)") && Catch::Contains("median"));
  const std::regex row("\niteration +5 +10.00 s +10.10 s +10.20 s");
  CHECK(std::regex_search(text, row));
  CHECK_THAT(analysis::json_text(comparison), Catch::Contains("\"warm_up\": 1"));
}
