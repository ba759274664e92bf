#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

// A sweep with some 100 candidates on 16 GPUs, so that tests can simulate all of them.
const char* const sweep =
    "cluster: dgx-h100\n"
    "model: llama-3-8b\n"
    "parallel: {tp: [1, 2, 4], pp: [1, 2, 4], sp: true, zero: [0, 1]}\n"
    "schedule: [1f1b, {name: interleaved-1f1b, chunks: 2}, zb-v]\n"
    "training: {microbatch_size: [1, 2], recompute: [none, full]}\n"
    "global_batch: 32\n"
    "symmetric: true\n"
    "search: {gpus: 16, constraints: tp * pp <= 8}\n";

json searched(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("search " + words + " --json --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

std::string error_of(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("search " + words);
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  return ran.err;
}

std::uint64_t count(const json& run, const char* outcome) {
  std::uint64_t rows = 0;
  for (const json& row : run["candidates"]) rows += row["outcome"] == outcome ? 1 : 0;
  return rows;
}

double best_time(const json& run) {
  double least = 1e9;
  for (const json& row : run["candidates"])
    if (row["outcome"] == "simulated") least = std::min(least, row["time_s"].get<double>());
  return least;
}

}  // namespace

TEST_CASE("every candidate uses its own routing and NCCL version", "[sweep]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("platform make --node dgx-h100 --nodes 8 --fabric leaf-spine --leaf-nodes 1 "
                   "--spines 4 -o spines.xml")
              .status == 0);
  const std::string scenario =
      "cluster: spines.xml\nmodel: llama-3-8b\nparallel: {tp: 2, pp: 2, dp: 16}\n"
      "schedule: 1f1b\nglobal_batch: 32\n";
  place.write("one.yaml", scenario);
  place.write("sweep.yaml",
              scenario +
                  "communication: {multipath: [spread, 'hash:1', 'hash:7'], nccl: ['2.18', "
                  "'2.27']}\n");
  const json found = searched(place, "sweep.yaml --exhaustive");
  REQUIRE(found["candidates"].size() == 6);
  for (const json& row : found["candidates"]) {
    std::string words;
    for (const char* const key : {"communication.multipath", "communication.nccl"})
      words += std::string(" ") + key + "=" + row["values"][key].get<std::string>();
    const tests::ProgramResult ran = place.run("run one.yaml --json --set" + words);
    CAPTURE(words, ran.err);
    REQUIRE(ran.status == 0);
    CHECK(json::parse(ran.out)["makespan_s"] == row["time_s"]);
  }
  place.write("file.yaml", scenario + "communication: {multipath: [spread, file]}\n");
  const tests::ProgramResult mixed = place.run("search file.yaml --quiet --exhaustive");
  CHECK_THAT(mixed.out + mixed.err, Catch::Contains("loads a cluster once"));
}

TEST_CASE("a search finds what simulating everything finds with far fewer simulations", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json found = searched(place, "sweep.yaml --no-front");
  const json all = searched(place, "sweep.yaml --exhaustive");
  CHECK(best_time(found) == best_time(all));
  CHECK(found["candidates"].size() == all["candidates"].size());
  CHECK(count(found, "illegal") == count(all, "illegal"));
  CHECK(count(found, "does not fit") == count(all, "does not fit"));
  CHECK(count(all, "bounded away") == 0);
  CHECK(count(found, "simulated") * 4 < count(all, "simulated"));
  CHECK(count(found, "simulated") > 0);
}

TEST_CASE("a search excludes candidates that their stack refuses, unless rules are off",
          "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "cluster: dgx-h100\nmodel: llama-3-8b\nparallel: {tp: 4, pp: [1, 2], sp: true}\n"
              "schedule: [1f1b, {name: interleaved-1f1b, chunks: 2}]\nglobal_batch: 32\n"
              "symmetric: true\nsearch: {gpus: 16}\n");
  const std::string reason =
      "megatron-core refuses this job: interleaved stages need a pp of at least 2, and pp is 1";
  const auto refused = [&](const json& run) {
    std::vector<std::string> layouts;
    for (const json& row : run["candidates"])
      if (row.value("note", "") == reason) {
        CHECK(row["outcome"] == "illegal");
        layouts.push_back(row["values"]["parallel.pp"]);
      }
    return layouts;
  };
  CHECK(refused(searched(place, "sweep.yaml --exhaustive")) == std::vector<std::string>{"1"});
  const json unruled = searched(place, "sweep.yaml --exhaustive --set search.rules=off");
  CHECK(refused(unruled).empty());
  CHECK(count(unruled, "illegal") == 0);
  const tests::ProgramResult ran = place.run("search sweep.yaml --quiet --results r.h5");
  CHECK_THAT(ran.out, Catch::Contains("1  illegal\n") &&
                          Catch::Contains("megatron-core refuses this job: ") &&
                          Catch::Contains("search.rules: off lifts the rules of the stack\n"));
  const std::string only = "--why-not \"pp == 1 and schedule != '1f1b'\"";
  CHECK_THAT(place.run("search r.h5 --quiet " + only).out,
             Catch::Contains("no candidate is legal") &&
                 Catch::Contains("search.rules: off lifts the rules of the stack\n"));
}

TEST_CASE("the scenario of the best runs as predicted", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json found = searched(place, "sweep.yaml -o best.yaml page.html all.csv all.json");
  CHECK(json::parse(place.read("all.json")) == found);
  CHECK_THAT(place.read("page.html"), Catch::StartsWith("<!DOCTYPE html>"));
  const tests::ProgramResult ran = place.run("run best.yaml --json");
  REQUIRE(ran.status == 0);
  CHECK(json::parse(ran.out)["makespan_s"].get<double>() == Approx(best_time(found)).epsilon(1e-9));
}

TEST_CASE("a search whose page cannot be written prints its report and writes the other files",
          "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  // The shell limits file sizes, so that the page cannot be written but the scenario can.
  const tests::ProgramResult ran = place.shell(
      "ulimit -f 16; '" PIPEWRIGHT_PROGRAM "' search sweep.yaml --quiet -o page.html best.yaml");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.out, Catch::Contains("\nbest: ") && Catch::Contains("wrote   best.yaml\n") &&
                          !Catch::Contains("page.html"));
  CHECK_THAT(ran.err, Catch::Contains("page.html"));
  CHECK(place.files() == "best.yaml sweep.yaml");
}

TEST_CASE("the number of workers changes neither the best nor the fronts", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json one_worker = searched(place, "sweep.yaml --jobs 1");
  const json three_workers = searched(place, "sweep.yaml --jobs 3");
  CHECK(one_worker["best"] == three_workers["best"]);
  CHECK(one_worker["fronts"] == three_workers["fronts"]);
}

TEST_CASE("results can be shown again and continued", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const tests::ProgramResult first = place.run("search sweep.yaml --results r.h5 --quiet");
  REQUIRE(first.status == 0);
  CHECK(place.files() == "r.h5 sweep.yaml");
  const json again = searched(place, "r.h5");
  CHECK(again["candidates"].size() > 50);
  CHECK_THAT(error_of(place, "sweep.yaml --results r.h5"), Catch::Contains("--resume"));
  CHECK(place.run("search sweep.yaml --results r.h5 --resume --quiet").out == first.out);
  place.write("other.yaml", std::string(sweep) + "p2p: blocking\n");
  CHECK_THAT(error_of(place, "other.yaml --results r.h5 --resume"), Catch::Contains("r.h5"));
}

TEST_CASE("candidates have the assumed numbers that they use", "[sweep]") {
  const tests::CommandFolder place;
  place.write("guess.yaml",
              "name: guess\nflops: 1000 TFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 3000 GB/s\n"
              "processors: 132\nproducts: {fp8: {flops: 2000 TFLOP/s}}\n"
              "assumed: [products.fp8.efficiency]\n");
  place.write("open.yaml",
              "model: llama-3-8b\ngpu: guess.yaml\nschedule: 1f1b\nglobal_batch: 16\n"
              "parallel: {pp: 4}\ntraining: {precision: [bf16, fp8], recompute: full}\n");
  const json found = searched(place, "open.yaml --exhaustive --results r.h5");
  REQUIRE(found["candidates"].size() == 2);
  for (const json& row : found["candidates"]) {
    const bool is_fp8 = row["values"]["training.precision"] == "fp8";
    CHECK(row["assumed"] == (is_fp8 ? json{"products.fp8.efficiency"} : json::array()));
    CHECK(row["assumed_gpu"] == (is_fp8 ? "guess" : ""));
  }
  CHECK(json::parse(place.run("search r.h5 --json").out) == found);
}

TEST_CASE("the error of a space without candidates names the rule to blame", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const std::string nothing = error_of(place, "sweep.yaml --set search.constraints='tp > 4'");
  CHECK_THAT(nothing, Catch::Contains("tp > 4"));
}

TEST_CASE("a space that is too large needs a budget or --yes", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const std::string large =
      error_of(place, "sweep.yaml --set global_batch=1..100000 training.microbatch_size=1..100000");
  CHECK_THAT(large, Catch::Contains("--yes") && Catch::Contains("--budget"));
  // With --budget the search starts and covers a part of the sweep.
  const tests::ProgramResult ran = place.run(
      "search sweep.yaml --budget '15 s' --quiet --set global_batch=1..100000 "
      "training.microbatch_size=1..100000");
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out,
             Catch::Contains("\nbest: ") && Catch::Contains("\n  stopped: nothing can be"));
}

TEST_CASE("a search that is stopped at once accounts for all combinations", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const tests::ProgramResult ran = place.run("search sweep.yaml --budget '0 s' --quiet");
  CHECK(ran.status == 1);
  CHECK_THAT(ran.out,
             Catch::Contains("the search was stopped before a candidate was simulated\n") &&
                 Catch::Contains("  not examined\n"));
  const json run = json::parse(place.run("search sweep.yaml --budget '0 s' --quiet --json").out);
  double sum = run["not_looked_at"].get<double>() + static_cast<double>(run["candidates"].size());
  for (const json& rule : run["excluded"]) sum += rule["combinations"].get<double>();
  CHECK(sum == run["combinations"].get<double>());
}

TEST_CASE("a combination that a rule excludes cannot be written as a scenario", "[sweep]") {
  const tests::CommandFolder place;
  // The rule for the number of GPUs comes from search.gpus, or without it from the size of the
  // cluster.
  for (const char* const more : {"", " --set search={} cluster=dgx-h100-8 parallel.dp=auto"}) {
    CAPTURE(more);
    place.write("sweep.yaml", sweep);
    const std::string error =
        error_of(place, std::string("sweep.yaml --candidate 0 -o c0.yaml") + more);
    CHECK_THAT(error, Catch::Contains("--candidate 0 is tp 1, pp 1, ") &&
                          Catch::Contains("the rule `tp * cp * pp * dp == "));
  }
  CHECK(place.files() == "sweep.yaml");
  place.write("fixed.yaml",
              "model: llama-3-8b\nparallel: {tp: [1, 2, 4], pp: 2, zero: [0, 1]}\n"
              "schedule: [1f1b, gpipe]\nmicrobatches: 4\n"
              "search: {constraints: tp != 2}\n");
  CHECK_THAT(error_of(place, "fixed.yaml --candidate 4 -o c.yaml"),
             Catch::Contains("the rule `tp != 2`"));
  CHECK_THAT(error_of(place, "fixed.yaml --candidate 2 -o c.yaml"),
             Catch::Contains("it is merged with an equivalent candidate"));
  CHECK_THAT(error_of(place, "fixed.yaml --candidate 99 -o c.yaml"),
             Catch::Contains("12 combinations, from 0 on"));
}

TEST_CASE("known rows, a condition and a candidate need no walk over a huge sweep", "[sweep]") {
  const tests::CommandFolder place;
  const std::string times = "forward_times: 1 ms\nbackward_times: 2 ms\nschedule: [1f1b, gpipe]\n";
  place.write("small.yaml", "devices: [2, 4]\nmicrobatches: [4, 8, 16]\n" + times);
  searched(place, "small.yaml --results small.h5");
  // 4e12 combinations.
  place.write("huge.yaml",
              "devices: 1..200\nmicrobatches: 1..100000\niterations: 1..100000\n" + times);
  const tests::ProgramResult ran = place.run(
      "search huge.yaml --budget '0.3 s' --jobs 1 --no-front --reuse small.h5 --why-not 'pp == 4' "
      "--candidate 3999999999999 -o last.yaml");
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.err, Catch::Contains("small.h5: 12 candidates reused"));
  CHECK_THAT(ran.out, Catch::Contains("why not pp == 4?"));
  CHECK_THAT(place.read("last.yaml"), Catch::Contains("iterations: 100000"));
}

TEST_CASE("shards that are searched separately have the same best and proof", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const json whole = searched(place, "sweep.yaml");
  for (int shard = 1; shard <= 3; ++shard)
    searched(place, fmt::format("sweep.yaml --shard {0}/3 --results part-{0}.h5", shard));
  const auto merged = [&](const std::string& files) {
    const tests::ProgramResult ran = place.run("search " + files + " --json");
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    return json::parse(ran.out);
  };
  const json all = merged("merge part-1.h5 part-2.h5 part-3.h5");
  CHECK(all["shard"].is_null());
  CHECK(all["not_looked_at"] == 0);
  // The results of one shard make no claim about candidates of other shards.
  const json part = merged("part-2.h5");
  CHECK(part["shard"] == json{{"number", 2}, {"count", 3}});
  CHECK_THAT(part["proof"], Catch::StartsWith("proven: nothing in shard 2/3 of the sweep"));
  CHECK(part["not_looked_at"].get<std::size_t>() + part["candidates"].size() ==
        all["candidates"].size());
  place.run("search part-2.h5 -o part.html");
  CHECK_THAT(place.read("part.html"), Catch::Contains("nothing in shard 2/3 of the sweep"));
  CHECK(all["finished"] == true);
  CHECK(all["gap"] == 0);
  CHECK(all["best"] == whole["best"]);
  CHECK(all["candidates"].size() == whole["candidates"].size());
  CHECK(merged("part-3.h5 part-1.h5 part-2.h5") == all);
  const std::string lacking = place.run("search merge part-1.h5 part-3.h5").out;
  CHECK_THAT(lacking, Catch::Contains("stopped early: unexamined candidates"));
  CHECK_THAT(error_of(place, "merge part-1.h5 part-1.h5"), Catch::Contains("both shard 1 of 3"));
  searched(place, "sweep.yaml --set global_batch=64 --results other.h5");
  CHECK_THAT(error_of(place, "merge part-1.h5 other.h5"), Catch::Contains("another sweep"));
  CHECK_THAT(error_of(place, "sweep.yaml --shard 4/3"), Catch::Contains("such as 3/64"));
  CHECK_THAT(error_of(place, "part-1.h5 --shard 1/3"), Catch::Contains("--shard needs a sweep"));
  CHECK_THAT(error_of(place, "part-1.h5 --set global_batch=64"),
             Catch::Contains("--set: part-1.h5 holds results"));
}

TEST_CASE("a shard that is killed and resumed has the results of an undisturbed one", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  const auto shard = [](int number, const std::string& file) {
    return fmt::format("sweep.yaml --shard {}/3 --jobs 1 --exhaustive --results {}", number, file);
  };
  // Kills the search once some candidates are finished. Its workers end with it.
  const tests::ProgramResult killed = place.shell(fmt::format(
      "'{}' search {} --quiet & search=$!; "
      "until [ $(cat killed.h5.journal 2>/dev/null | wc -l) -gt 4 ] || ! kill -0 $search; "
      "do sleep 0.005; done; kill -9 $search; wait $search",
      PIPEWRIGHT_PROGRAM, shard(1, "killed.h5")));
  REQUIRE(killed.status == 128 + 9);
  REQUIRE_THAT(place.files(), Catch::Contains("killed.h5.journal"));
  const json resumed = searched(place, shard(1, "killed.h5") + " --resume");
  const json undisturbed = searched(place, shard(1, "part-1.h5"));
  CHECK(resumed == undisturbed);
  CHECK(count(undisturbed, "simulated") > 5);
  CHECK(place.shell("cmp killed.h5 part-1.h5").status == 0);

  for (const int number : {2, 3}) searched(place, shard(number, fmt::format("part-{}.h5", number)));
  const json whole = searched(place, "sweep.yaml");
  const json merged = searched(place, "merge killed.h5 part-2.h5 part-3.h5");
  for (const char* const what : {"best", "runner_up", "fronts", "finished", "gap"}) {
    CAPTURE(what);
    CHECK(merged[what] == whole[what]);
  }
}

TEST_CASE("a table of the best per value names the value in each row", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "cluster: dgx-h100\nmodel: llama-3-8b\nparallel: {tp: 4, pp: 2, dp: 4}\n"
              "training: {precision: [bf16, fp8]}\nglobal_batch: 32\nschedule: 1f1b\n");
  const std::string found = place.run("search sweep.yaml --quiet --exhaustive --by precision").out;
  const std::string table = found.substr(found.find("best simulated candidate for each precision"));
  CHECK_THAT(table, Catch::Contains("\nprecision ") && Catch::Contains("\nbf16 ") &&
                        Catch::Contains("\nfp8 "));
  // Also where a single value has candidates that fit.
  place.write(
      "one.yaml",
      "cluster: [dgx-h100, dgx-a100]\nmodel: llama-3-8b\nparallel: {tp: 4, pp: 2, dp: auto}\n"
      "global_batch: 32\nschedule: 1f1b\nsearch: {gpus: 32}\n");
  const std::string by_cluster = place.run("search one.yaml --quiet --exhaustive --by cluster").out;
  CHECK_THAT(by_cluster.substr(by_cluster.find("best simulated candidate for each cluster")),
             Catch::Contains("\ncluster ") && Catch::Contains("\ndgx-h100 "));
}

TEST_CASE("a constraint on a result names the key for it", "[sweep]") {
  const tests::CommandFolder place;
  const auto with = [&](const std::string& constraint) {
    place.write("sweep.yaml",
                "cluster: dgx-h100\nmodel: llama-3-8b\nparallel: {tp: auto}\n"
                "global_batch: 32\nsearch: {constraints: \"" +
                    constraint + "\"}\n");
    return error_of(place, "sweep.yaml");
  };
  CHECK_THAT(with("peak_memory < 60 GiB"),
             Catch::Contains("search.memory is the key that limits memory: 60 GiB"));
  CHECK_THAT(with("mfu > 0.4"), Catch::Contains("search.objective is the key that ranks"));
}

TEST_CASE("errors of the command line say what is allowed", "[sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml", sweep);
  CHECK_THAT(error_of(place, ""), Catch::Contains("search needs a sweep"));
  CHECK_THAT(error_of(place, "sweep.yaml --resume"), Catch::Contains("--results FILE.h5"));
  CHECK_THAT(error_of(place, "sweep.yaml -o best.txt"), Catch::Contains(".html (page)"));
  CHECK_THAT(error_of(place, "sweep.yaml --by color"), Catch::Contains("tp, pp"));
  CHECK_THAT(error_of(place, "sweep.yaml --set variation.jitter='2 %'"), Catch::Contains("jitter"));
  CHECK_THAT(error_of(place, "sweep.yaml --candidate 3"), Catch::Contains("-o candidate-3.yaml"));
  CHECK_THAT(error_of(place, "sweep.yaml --candidate abc -o c.yaml"),
             Catch::Contains("as in --candidate 12"));
  CHECK(place.run("search --help").status == 0);
}
