#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

// A sweep with so few candidates that tests can simulate all of them.
const char* const sweep =
    "cluster: dgx-h100\n"
    "model: llama-3-8b\n"
    "parallel: {tp: [1, 2, 4], pp: [1, 2, 4], sp: true, zero: [0, 1]}\n"
    "schedule: [1f1b, {name: interleaved-1f1b, chunks: 2}, zb-v]\n"
    "training: {microbatch_size: [1, 2]}\n"
    "global_batch: 32\n"
    "symmetric: true\n"
    "search: {gpus: 16, constraints: tp * pp <= 8}\n";

json searched(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("search " + words + " --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

// Returns the shortest iteration time of the simulated candidates with this tp.
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

TEST_CASE("the best candidate that meets a condition is the one that simulating all finds",
          "[sweep][winner]") {
  const tests::CommandFolder place;
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

TEST_CASE("the option --why-not describes the losing candidate, or why there is none",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const tests::ProgramResult ran =
      place.run("search r.h5 --quiet --why-not 'tp == 4 and pp == 1' 'tp == 8' 'tp * pp == 16'");
  CHECK_THAT(ran.out, Catch::Contains("why not tp == 4 and pp == 1?\n"));
  CHECK_THAT(ran.out, Catch::Contains("  best that meets it: "));
  CHECK_THAT(ran.out, Catch::Contains(" for the same work"));
  CHECK_THAT(ran.out, Catch::Contains("why not tp == 8?\n  no candidate: "));
  CHECK_THAT(ran.out, Catch::Contains("  no combination meets `tp == 8`\n"));
  CHECK_THAT(ran.out, Catch::Contains("  no combination meets both `tp * pp <= 8` and "
                                      "`tp * pp == 16`\n"));
}

TEST_CASE("an invalid condition is refused before the search", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const tests::ProgramResult ran = place.run("search sweep.yaml --quiet --why-not 'tp = 8'");
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  CHECK_THAT(ran.err, Catch::Contains("--why-not: constraint 'tp = 8', column 4: '=' is no "
                                      "comparison; write == for equal"));
}

TEST_CASE("the certainty of the winner does not depend on the number of processes",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const std::string words = "r.h5 --under top=3 draws=4 turns=false";
  const json sequential = searched(place, words + " --jobs 1");
  CHECK(searched(place, words + " --jobs 3")["robust"] == sequential["robust"]);
  CHECK(sequential["robust"]["candidates"].size() == 3);
  CHECK(sequential["robust"]["candidates"][0]["candidate"] == sequential["best"]);
  CHECK_THAT(sequential["robust"]["error"]["basis"].get<std::string>(),
             Catch::StartsWith("h100-sxm, bf16, dense"));
  CHECK(searched(place, words + " seed=2")["robust"] != sequential["robust"]);
}

TEST_CASE("the best few do not depend on which candidates the search simulated",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const std::string words = " --under top=4 draws=1 turns=false jitter=0 network=0 slow=0";
  const json found = searched(place, "sweep.yaml --no-front" + words);
  const json all = searched(place, "sweep.yaml --exhaustive" + words);
  REQUIRE(all["robust"]["candidates"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(found["robust"]["candidates"][i]["candidate"] ==
          all["robust"]["candidates"][i]["candidate"]);
}

TEST_CASE("without variation all draws have the planned time", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json run = searched(place,
                            "sweep.yaml --under top=2 draws=2 jitter=0 network=0 slow=0 error=0 "
                            "turns=false");
  for (const json& candidate : run["robust"]["candidates"])
    for (const json& seconds : candidate["time_s"])
      CHECK(seconds.get<double>() == Approx(time_of(run, candidate["candidate"])).epsilon(1e-9));
  CHECK(run["robust"]["candidates"][0]["with_error"]["wins"] == 1);
}

TEST_CASE("a slow GPU makes the iteration of its pipeline longer", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "devices: 1\nmicrobatches: 8\nforward_times: 1 s\nbackward_times: 2 s\n"
              "schedule: [1f1b, gpipe]\n");
  const json run = searched(
      place, "sweep.yaml --under draws=3 jitter=0 network=0 slow=50% slow_chance=1 turns=false");
  // On one device an iteration takes 8 x 3 s, the sum of its passes, and up to 50 % more with a
  // slow GPU.
  for (const json& seconds : run["robust"]["candidates"][0]["time_s"]) {
    CHECK(seconds.get<double>() > 24);
    CHECK(seconds.get<double>() <= 36);
  }
}

TEST_CASE("a slower network and less memory change the winner", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json run = searched(place, "sweep.yaml --under top=4 draws=1");
  const json& turns = run["robust"]["turns"];
  REQUIRE_FALSE(turns.empty());
  for (const json& turn : turns) {
    if (turn.contains("factor")) CHECK((turn["factor"] < 1) == turn["below"].get<bool>());
    CHECK(turn["lead"].get<double>() > 0);
  }
}

TEST_CASE("unknown settings of --under are refused", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const auto error_of = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("search sweep.yaml --quiet --under " + words);
    CHECK(ran.status == 2);
    return ran.err;
  };
  CHECK_THAT(error_of("draw=3"), Catch::Contains("did you mean 'draws'?"));
  CHECK_THAT(error_of("jitter"), Catch::Contains("write it as in draws=64"));
  CHECK_THAT(error_of("network=100%"), Catch::Contains("less than 100 %"));
}

TEST_CASE(
    "the cheapest candidate on each cluster uses the price of its GPUs and keeps the deadline",
    "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "cluster: [dgx-a100, dgx-h100]\nmodel: llama-3-8b\n"
              "parallel: {tp: [1, 2, 4], pp: 2, sp: true, zero: 1}\nschedule: 1f1b\n"
              "training: {microbatch_size: 1}\nglobal_batch: 64\nsymmetric: true\n"
              "search: {gpus: [16, 32]}\n");
  const auto costs = [&](const std::string& words) {
    return searched(place, "sweep.yaml --costs tokens=300B " + words)["costs"];
  };
  const json all = costs("dgx-a100=1.5 dgx-h100=3");
  REQUIRE(all.size() == 2);
  for (const json& cost : all) {
    const double hours = 300e9 / cost["tokens_per_s"].get<double>() / 3600;
    CHECK(cost["train_time_days"].get<double>() == Approx(hours / 24));
    const double price =
        cost["price_per_gpu_hour"].get<double>() * cost["gpus"].get<double>() * hours;
    CHECK(cost["price"].get<double>() == Approx(price));
    CHECK(cost["tokens_per_unit"].get<double>() == Approx(300e9 / price));
    CHECK(cost["keeps_deadline"] == true);
  }
  // A GPU of the first candidate draws at most 0.4 kW, one of the second at most 0.7 kW.
  CHECK(all[0]["energy_mwh"].get<double>() <
        0.4e-3 * all[0]["gpus"].get<double>() * 24 * all[0]["train_time_days"].get<double>());
  CHECK(all[1]["energy_mwh"].get<double>() <
        0.7e-3 * all[1]["gpus"].get<double>() * 24 * all[1]["train_time_days"].get<double>());
  // Without a tight deadline 16 GPUs are a little cheaper, as fewer replicas wait for gradients to
  // be reduced. With 0.6 of their time as the deadline, 32 GPUs are needed.
  const double half = all[1]["train_time_days"].get<double>() * 0.6;
  const json hurried = costs("price=3 deadline=" + std::to_string(half) + "d");
  CHECK(all[1]["gpus"] == 16);
  CHECK(hurried[1]["gpus"] == 32);
  CHECK(hurried[1]["keeps_deadline"] == true);
  CHECK(hurried[0]["keeps_deadline"] == false);
}

TEST_CASE("errors of --costs say what is missing", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const auto error_of = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("search sweep.yaml --quiet --costs " + words);
    CHECK(ran.status == 2);
    return ran.err;
  };
  CHECK_THAT(error_of("price=2"),
             Catch::Contains("--costs needs a number of tokens; add tokens=300B"));
  CHECK_THAT(error_of("tokens=1T dgx-b200=3"),
             Catch::Contains("the clusters of the sweep: dgx-h100"));
  CHECK_THAT(error_of("tokens=1T price=2 deadline=soon"), Catch::Contains("--costs: deadline"));
}

TEST_CASE("without a price, costs are the days and energy of the fastest candidate",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json run = searched(place, "sweep.yaml --costs tokens=1T");
  REQUIRE(run["costs"].size() == 1);
  const json& cost = run["costs"][0];
  CHECK(cost["candidate"] == run["best"]);
  CHECK(cost["price"].is_null());
  CHECK(cost["energy_mwh"].get<double>() > 0);
  const double seconds = 1e12 / cost["tokens_per_s"].get<double>();
  CHECK(cost["train_time_days"].get<double>() == Approx(seconds / 86400));
  const tests::ProgramResult two = place.run(
      "search sweep.yaml --quiet --set 'cluster=[dgx-a100, dgx-h100]' --costs tokens=1T "
      "dgx-h100=3");
  CHECK(two.status == 2);
  CHECK_THAT(two.err, Catch::Contains("--costs needs the price of a GPU-hour of 'dgx-a100'"));
}

TEST_CASE("a budget that is spent cuts questions short, and the report lists them",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const std::string words = "r.h5 --decide --costs tokens=1T --budget ";
  const json run = searched(place, words + "1ms");
  std::vector<std::string> cut = run["cut_short"];
  CHECK(std::ranges::count(cut, "draws of conditions") == 1);
  CHECK(run["robust"]["draws"] == 0);
  CHECK(run["decision"]["ties"].empty());
  CHECK_THAT(run["decision"]["no_goodput_reason"].get<std::string>(),
             Catch::Contains("the time was spent"));
  // Days without failures need no simulation.
  CHECK(run["decision"]["cost"]["train_time_days"].get<double>() > 0);
  CHECK_FALSE(searched(place, words + "1h --under draws=2 turns=false").contains("cut_short"));
  const tests::ProgramResult text = place.run("search " + words + "1ms --quiet");
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Catch::Contains("cut short by the budget\n  "));
}

TEST_CASE("draws up to the end of the budget are those of a run without a budget",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const json cut =
      searched(place, "r.h5 --budget 2s --under top=2 draws=10000 turns=false")["robust"];
  const auto draws = cut["draws"].get<std::size_t>();
  REQUIRE(draws > 0);
  REQUIRE(draws < 10000);
  const json whole =
      searched(place, "r.h5 --under top=2 turns=false draws=" + std::to_string(draws))["robust"];
  CHECK(cut["candidates"] == whole["candidates"]);
}

TEST_CASE("an interrupted search reports the best so far and how to get the decision",
          "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const auto interrupted = [&](const std::string& words) {
    // In the foreground, timeout sends one signal: a second one kills the program.
    return place.shell("timeout --foreground --preserve-status -s INT 3 '" PIPEWRIGHT_PROGRAM
                       "' search " +
                       words + " --quiet");
  };
  // The draws would take hours.
  const tests::ProgramResult during = interrupted("r.h5 --decide --under draws=10000 top=9");
  CHECK(during.status == 130);
  CHECK_THAT(during.out, Catch::Contains("\nbest: "));
  CHECK_THAT(during.out, Catch::Contains("\ninterrupted\n"));
  CHECK_THAT(during.out, Catch::Contains("  draws of conditions\n"));
  CHECK_THAT(during.out, Catch::Contains("'pipewright search r.h5 --decide ..'"));
  CHECK_THAT(during.out, !Catch::Contains("\ndecision\n"));

  place.write("long.yaml",
              "cluster: dgx-h100-8\nmodel: llama-3-70b\nparallel: {tp: auto, pp: auto, cp: auto, "
              "zero: [0, 1, 2, 3]}\nschedule: auto\ntraining: {microbatch_size: auto, recompute: "
              "auto}\nglobal_batch: 512\n");
  const std::string question = " --exhaustive --decide --jobs 1";
  const tests::ProgramResult search = interrupted("long.yaml --results long.h5" + question);
  CHECK(search.status == 130);
  CHECK_THAT(search.out, Catch::Contains("the same command with --resume continues the search"));
  CHECK_THAT(search.out, Catch::Contains("and the decision was not made"));
  CHECK_THAT(interrupted("long.yaml" + question).out, Catch::Contains("nothing is stored"));
}

TEST_CASE("a decision notes spares that cannot be or have no effect", "[sweep][winner]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("platform make --node gb300-nvl72 --nodes 2 -o racks.xml").status == 0);
  place.write("sweep.yaml",
              "cluster: racks.xml\nmodel: llama-3-8b\nparallel: {tp: [2, 4], pp: 1, dp: auto}\n"
              "placement: {domain: 64}\nglobal_batch: 128\nsymmetric: true\n"
              "search: {gpus: 64}\n"
              "goodput:\n  duration: 5 d\n  failures: [{kind: gpu, rate: 0.3, per: gpu}]\n");
  const std::string words =
      "sweep.yaml --decide --under draws=1 turns=false --set goodput.replaces=rack "
      "goodput.spares=";
  // The job has 16 of the 36 nodes.
  const auto notes = [&](const std::string& spares) {
    return searched(place, words + spares)["decision"]["goodput"]["notes"].dump();
  };
  CHECK_THAT(notes("21"), Catch::Contains("goodput.spares is 21, but the cluster has 36 nodes"));
  CHECK_THAT(notes("21"), Catch::Contains("5 spare nodes have no effect"));
  CHECK_THAT(notes("16"), !Catch::Contains("spares"));
  const tests::ProgramResult text = place.run("search " + words + "3 --quiet");
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Catch::Contains("goodput.spares is 3, and goodput.replaces is rack"));
  CHECK_THAT(text.out, !Catch::Contains("price ($)"));
}

TEST_CASE("a decision has the cost, failures and launch of the best candidate", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  REQUIRE(place.run("search sweep.yaml --quiet --results r.h5").status == 0);
  const std::string words = "r.h5 --decide --under top=2 draws=2 turns=false";
  const json run = searched(place, words + " --costs tokens=1T price=2");
  const json& decision = run["decision"];
  CHECK(decision["candidate"] == run["best"]);
  CHECK(decision["missing"].empty());
  const json& cost = decision["cost"];
  const double days = cost["train_time_days"];
  CHECK(cost["price"].get<double>() == Approx(days * 24 * 16 * 2));
  CHECK(decision["goodput"]["days"]["mean"].get<double>() > days);
  CHECK(decision["launch"]["framework"] == "megatron");
  CHECK_THAT(decision["launch"]["text"].get<std::string>(), Catch::Contains("pretrain_gpt.py"));

  const tests::ProgramResult without = place.run("search " + words + " --quiet -o page.html");
  REQUIRE(without.status == 0);
  CHECK_THAT(without.out, Catch::Contains("\ndecision\n"));
  CHECK_THAT(without.out, Catch::Contains("--costs tokens=300B price=2.5 gives them"));
  CHECK_THAT(without.out, Catch::Contains("--launch megatron prints the launch"));
  CHECK_THAT(without.out, Catch::Contains("  given, not searched: sp true\n"));
  CHECK_THAT(without.out, Catch::Contains("  by default, not searched: cp 1, partition even, "));
  CHECK_THAT(place.read("page.html"), Catch::Contains("\"kind\":\"script\""));
}

TEST_CASE("a decision about pass times says why failures cannot be simulated", "[sweep][winner]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "devices: 2\nmicrobatches: 8\nforward_times: 1 s\nbackward_times: 2 s\n"
              "schedule: [1f1b, gpipe]\n");
  const json run = searched(place, "sweep.yaml --decide --under draws=1 turns=false");
  CHECK(run["decision"]["goodput"].is_null());
  CHECK_FALSE(run["decision"]["no_goodput_reason"].get<std::string>().empty());
  CHECK(run["decision"]["launch"].is_null());
}
