#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

// Small enough to simulate all of it.
const char* const sweep =
    "cluster: dgx-h100\n"
    "model: llama-3-8b\n"
    "parallel: {tp: [1, 2, 4], pp: [1, 2, 4], sp: true, zero: [0, 1]}\n"
    "schedule: [1f1b, {name: interleaved-1f1b, chunks: 2}, zb-v]\n"
    "training: {microbatch_size: [1, 2]}\n"
    "global_batch: 32\n"
    "symmetric: true\n"
    "search: {gpus: 16, constraints: tp * pp <= 8}\n";

json searched(const tests::Workplace& place, const std::string& words) {
  const tests::Ran ran = place.run("search " + words + " --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

// Of those that were simulated with this tp.
double least_time(const json& run, const std::string& tp) {
  double least = 1e9;
  for (const json& row : run["candidates"])
    if (row["outcome"] == "simulated" && row["values"]["parallel.tp"] == tp)
      least = std::min(least, row["time_s"].get<double>());
  return least;
}

double time_of(const json& run, const json& candidate) {
  for (const json& row : run["candidates"])
    if (row["candidate"] == candidate) return row["time_s"];
  return 0;
}

}  // namespace

TEST_CASE("the best of those that meet a condition is the one that simulating all finds",
          "[sweep][winner]") {
  const tests::Workplace place;
  place.write("sweep.yaml", sweep);
  const json all = searched(place, "sweep.yaml --exhaustive");
  const double best = time_of(all, all["best"]);
  const json found = searched(
      place, "sweep.yaml --no-front --results r.h5 --why-not 'tp == 1' 'tp == 2' 'tp == 4'");
  const json again = searched(place, "r.h5 --why-not 'tp == 1' 'tp == 2' 'tp == 4' --jobs 1");
  REQUIRE(found["why_not"].size() == 3);
  int winners = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const json& asked = found["why_not"][i];
    for (const char* const key : {"best", "loses"}) CHECK(again["why_not"][i][key] == asked[key]);
    const std::string tp = asked["best"]["values"]["parallel.tp"];
    CHECK(asked["condition"] == "tp == " + tp);
    const double time = asked["best"]["time_s"];
    CHECK(time == least_time(all, tp));
    if (asked["loses"].is_null())
      ++winners;
    else
      CHECK(asked["loses"]["more_s"].get<double>() == Approx(time - best).margin(1e-9));
  }
  CHECK(winners == 1);
}

TEST_CASE("what loses is told as the runner-up is, what cannot be with its reason",
          "[sweep][winner]") {
  const tests::Workplace place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const tests::Ran ran =
      place.run("search r.h5 --quiet --why-not 'tp == 4 and pp == 1' 'tp == 8' 'tp * pp == 16'");
  CHECK_THAT(ran.out, Catch::Contains("why not tp == 4 and pp == 1?\n"));
  CHECK_THAT(ran.out, Catch::Contains("  the best of those has "));
  CHECK_THAT(ran.out, Catch::Contains(" for the same work"));
  CHECK_THAT(ran.out, Catch::Contains("why not tp == 8?\n  none of "));
  CHECK_THAT(ran.out, Catch::Contains("  no combination meets `tp == 8`\n"));
  CHECK_THAT(ran.out, Catch::Contains("  no combination meets both `tp * pp <= 8` and "
                                      "`tp * pp == 16`\n"));
}

TEST_CASE("a condition that says nothing is refused before anything is searched",
          "[sweep][winner]") {
  const tests::Workplace place;
  place.write("sweep.yaml", sweep);
  const tests::Ran ran = place.run("search sweep.yaml --quiet --why-not 'tp = 8'");
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, Catch::Contains("--why-not: constraint 'tp = 8', column 4: '=' sets nothing "
                                      "here; write == for equal"));
}
