#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

// Returns a sweep over jobs on four nodes, or on three with a spare node, that maximizes the tokens
// per day of a goodput run.
std::string sweep(const std::string& goodput) {
  return "cluster: dgx-h100\n"
         "model: llama-3-8b\n"
         "parallel: {tp: [2, 4], pp: [1, 2, 4], sp: true, zero: 1}\n"
         "schedule: 1f1b\n"
         "global_batch: 48\n"
         "goodput: " +
         goodput +
         "\n"
         "search: {gpus: [24, 32], objective: {tokens_a_day: 6}}\n";
}

// Each node fails twice a week on average, and its repair takes a day.
const char* const failing_nodes =
    "{duration: 8 d, failures: {kind: node, rate: 280}, spares: rest, checkpoint: {mode: "
    "[sync, async], storage: 2 GB/s, network: 1 TB/s}}";

json searched(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("search " + words + " --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

const json& row_of(const json& run, const json& candidate) {
  const json& rows = run["candidates"];
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const json& row) { return row["candidate"] == candidate; });
}

}  // namespace

TEST_CASE("a search for tokens per day agrees with goodput for every candidate",
          "[sweep][goodput]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep(failing_nodes));
  const json all = searched(place, "sweep.yaml --exhaustive --results all.h5");
  double most_tokens = 0;
  json best;
  int simulated = 0;
  for (const json& row : all["candidates"]) {
    if (row["outcome"] != "simulated") continue;
    ++simulated;
    const std::string number = row["candidate"].dump();
    place.run("search all.h5 --quiet -o candidate.yaml --candidate " + number);
    const tests::ProgramResult ran = place.run("goodput candidate.yaml --seeds 6 --only --json");
    REQUIRE(ran.status == 0);
    const double tokens = json::parse(ran.out)["tokens_per_day"]["mean"];
    CAPTURE(number);
    CHECK(row["tokens_per_day"].get<double>() == Approx(tokens).epsilon(1e-9));
    if (tokens > most_tokens) best = row["candidate"];
    most_tokens = std::max(most_tokens, tokens);
  }
  REQUIRE(simulated > 12);
  CHECK(all["best"] == best);
  CHECK(row_of(all, best)["gpus"] == 24);  // with a node to spare

  // A search with bounds finds the same best and simulates fewer candidates.
  const json bounded = searched(place, "sweep.yaml --no-front --results r.h5");
  CHECK(bounded["best"] == best);
  CHECK(bounded["gap"] == 0);
  CHECK(row_of(bounded, best)["tokens_per_day"] == row_of(all, best)["tokens_per_day"]);
  CHECK(bounded["outcomes"]["simulated"] < all["outcomes"]["simulated"]);

  // A search in two shards and the answer to --why-not give the same results.
  for (const char* shard : {"1", "2"})
    searched(place, fmt::format("sweep.yaml --no-front --shard {0}/2 --results p{0}.h5", shard));
  const json whole = searched(place, "merge p1.h5 p2.h5");
  CHECK(whole["best"] == best);
  CHECK(row_of(whole, best)["tokens_per_day"] == row_of(all, best)["tokens_per_day"]);
  const json why = searched(place, "r.h5 --why-not 'gpus == 32'")["why_not"][0];
  CHECK(why["best"]["gpus"] == 32);
  CHECK(why["loses"]["more_lost_time_ratio"] > 0.1);
  const json resumed = searched(place, "sweep.yaml --no-front --results r.h5 --resume");
  CHECK(resumed["best"] == best);
}

TEST_CASE("without failures tokens per day equal the throughput", "[sweep][goodput]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep("{failures: {rate: 0}}"));
  const json days = searched(place, "sweep.yaml --exhaustive");
  const json rates = searched(place, "sweep.yaml --exhaustive --set search.objective=throughput");
  CHECK(days["best"] == rates["best"]);
  for (const json& row : days["candidates"])
    if (row["outcome"] == "simulated")
      CHECK(row["tokens_per_day"].get<double>() ==
            Approx(86400 * row["tokens_per_s"].get<double>()).epsilon(1e-9));
}

TEST_CASE("a search for tokens per day prints the effective share of the time",
          "[sweep][goodput]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep(failing_nodes));
  const tests::ProgramResult ran = place.run("search sweep.yaml --quiet -o all.csv page.html");
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("tokens a day of a goodput run, 6 seeds"));
  CHECK_THAT(ran.out, Catch::Contains("effective training time 84"));
  CHECK_THAT(ran.out, Catch::Contains("\nthroughput of an iteration against memory: "));
  const std::string csv = place.read("all.csv");
  CHECK_THAT(csv.substr(0, csv.find('\n')),
             Catch::Contains(",effective_training_time_ratio,tokens_per_day,"));
  CHECK_THAT(place.read("page.html"), Catch::Contains("tokens_a_day"));

  place.write("bare.yaml",
              "model: llama-3-8b\nparallel: {tp: [1, 2]}\nmicrobatches: 8\n"
              "search: {objective: tokens_a_day}\n");
  const tests::ProgramResult bare = place.run("search bare.yaml --quiet");
  CHECK(bare.status == 2);
  CHECK_THAT(bare.err, Catch::Contains("goodput: {failures: rsc-1"));
}

TEST_CASE("a candidate whose goodput run is impossible is illegal", "[sweep][goodput]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep("{checkpoint: {network: 1 MB/s}}"));
  const tests::ProgramResult ran = place.run("search sweep.yaml --quiet --json");
  CHECK(ran.status == 1);
  const json run = json::parse(ran.out);
  CHECK(run["best"].is_null());
  CHECK(run["outcomes"]["failed"] == 0);
  CHECK_THAT(ran.out, Catch::Contains("checkpoint.network is the sum over all nodes"));
}
