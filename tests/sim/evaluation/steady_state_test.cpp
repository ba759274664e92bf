#include "sim/evaluation/steady_state.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/random.hpp"

// Tests that a run extrapolated from a few periods of its schedule equals the full simulation.

using namespace pipewright;
using nlohmann::json;

namespace {

// Compares all figures of two summaries in JSON, except those that say when a peak is reached.
void check_same(const json& a, const json& b, const std::string& name) {
  CAPTURE(name);
  if (a.is_number()) {
    const auto expected = a.get<double>();
    CHECK(b.get<double>() == Approx(expected).epsilon(1e-8).margin(1e-9));
    return;
  }
  REQUIRE(a.size() == b.size());
  if (!a.is_structured()) {
    CHECK(a == b);
    return;
  }
  for (const auto& [key, value] : a.items()) {
    const bool is_moment = key == "peak_time_s" || key == "over_since_s";
    if (is_moment) continue;
    if (a.is_object())
      check_same(value, b.at(key), name + "." + key);
    else
      check_same(value, b.at(std::stoul(key)), name + "." + key);
  }
}

json summary(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("run " + words + " --json");
  INFO(words << '\n' << ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

}  // namespace

TEST_CASE("a run extrapolated from its steady state equals the full simulation", "[steady]") {
  const tests::CommandFolder place;
  tests::Random random(5);
  const std::vector<std::string> schedules{"1f1b", "zb-h1", "gpipe",
                                           "'{name: interleaved-1f1b, chunks: 2}'"};
  for (int round = 0; round < 12; ++round) {
    const std::string& schedule = schedules[random.whole(0, 3)];
    if (schedule == "gpipe") continue;  // holds all microbatches: its memory grows
    const std::uint32_t pp = random.flip() ? 2 : 4;
    const std::string words = fmt::format(
        "--set cluster=dgx-h100 model=llama-3-8b schedule={} microbatches={} "
        "training.sequence=2048 training.recompute=full engine={} parallel='{{tp: 2, pp: {}, dp: "
        "2, zero: {}}}'",
        schedule, pp * random.whole(30, 60), random.flip() ? "timing" : "simgrid", pp,
        random.whole(0, 1));
    check_same(summary(place, words), summary(place, words + " --steady-state"), words);
  }
}

TEST_CASE("runs whose passes or memory do not repeat are not extrapolated", "[steady]") {
  const tests::CommandFolder place;
  const std::string job =
      "run --set cluster=dgx-h100 model=llama-3-8b microbatches=400 training.recompute=full "
      "parallel='{tp: 2, pp: 2, dp: 2}' --steady-state ";
  const auto error = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run(job + words);
    CHECK(ran.status == 2);
    return ran.err;
  };
  CHECK_THAT(error("--schedule gpipe"), Catch::Contains("gpipe does not repeat"));
  CHECK_THAT(error("--set variation.jitter=0.1"), Catch::Contains("microbatches differ"));
  CHECK_THAT(error("--trace a.h5"), Catch::Contains("a trace or a picture shows all"));
}

TEST_CASE("a batch of millions is extrapolated in a moment", "[steady]") {
  const tests::CommandFolder place;
  const json run = summary(place,
                           "--set cluster=dgx-h100 model=llama-3-8b global_batch=6400000 "
                           "parallel='{tp: 2, pp: 4, dp: 2}' --steady-state");
  // The bubble of millions of microbatches is next to nothing.
  CHECK(run["bubble_ratio"].get<double>() < 0.2);
  CHECK(run["makespan_s"].get<double>() > 1000);
}
