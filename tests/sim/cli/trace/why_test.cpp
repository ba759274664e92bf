#include <algorithm>
#include <cmath>
#include <map>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

json why_json(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("why " + words + " --json");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.err.empty());
  return json::parse(ran.out);
}

double makespan(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run("run " + words + " --json");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out)["makespan_s"];
}

// Returns the predicted time after each what-if change, by its description; NaN for changes that
// cannot run.
std::map<std::string, double> rows_of(const json& why) {
  std::map<std::string, double> rows;
  for (const json& row : why["what_if"]["rows"])
    rows[row["change"]] = row.value("makespan_s", std::nan(""));
  return rows;
}

// Platform file of two nodes with a GPU each and a cable between them.
std::string cluster_with(double gigabytes_per_s, double milliseconds) {
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='all' routing='Full'>\n"
      "<host id='a' speed='1Gf'/><host id='b' speed='1Gf'/>\n"
      "<link id='cable' bandwidth='{}GBps' latency='{}ms' sharing_policy='SPLITDUPLEX'>"
      "<prop id='class' value='cable'/></link>\n"
      "<route src='a' dst='b'><link_ctn id='cable' direction='UP'/></route>\n"
      "</zone></platform>\n",
      gigabytes_per_s, milliseconds);
}

constexpr const char* first =
    "-s 4 -b 8 -f '1 s' --backward-times '2 s' --schedule 1f1b --trace a.h5";

// Schedules of two microbatches on two devices that run both at the same time or one after the
// other.
constexpr const char* both_at_once = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
constexpr const char* one_by_one = "0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n";

}  // namespace

TEST_CASE("why reports the critical path, the parts of time and the gain of changes", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(std::string("run ") + first).status == 0);
  const tests::ProgramResult ran = place.run("why a.h5");
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  for (const char* part : {"1f1b: 33.00 s", "100.0 % of the critical path is compute", "bubble:",
                           "passes of stage 3", "what if", "passes of stage 0, 1 or 2 10 % faster",
                           "p2p blocking", "one more chunk: interleaved-1f1b x2"})
    CHECK_THAT(ran.out, Catch::Contains(part));
  CHECK(place.files() == "a.h5");
}

TEST_CASE("the assumed numbers of a run and of its what-ifs are told", "[cli]") {
  const tests::CommandFolder place;
  place.write("guess.yaml",
              "name: guess\nflops: 1000 TFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 3000 GB/s\n"
              "processors: 132\nproducts: {fp8: {flops: 2000 TFLOP/s}}\n"
              "assumed: [products.fp8.efficiency]\n");
  const std::string words =
      "run --model llama-3-8b --gpu guess.yaml -s 2 -b 2 --engine timing --schedule 1f1b --trace ";
  REQUIRE(place.run(words + "bf16.h5").status == 0);
  REQUIRE(place.run(words + "fp8.h5 --set training.precision=fp8").status == 0);
  const json why = why_json(place, "bf16.h5");
  CHECK(why["assumed"].empty());
  for (const json& row : why["what_if"]["rows"])
    CHECK(row["assumed"] ==
          (row["change"] == "precision fp8" ? json{"products.fp8.efficiency"} : json::array()));
  const std::string line =
      "\nvalues of guess that are assumed, not sourced: products.fp8.efficiency\n";
  CHECK_THAT(place.run("why bf16.h5").out, !Catch::Contains(line));
  CHECK_THAT(place.run("why fp8.h5 --no-what-if").out, Catch::EndsWith(line));
  CHECK_THAT(place.run("compare bf16.h5 fp8.h5").out, Catch::Contains(line));
  const json both = json::parse(place.run("compare bf16.h5 fp8.h5 --json").out);
  CHECK(both["baseline"]["assumed"].empty());
  CHECK(both["others"][0]["assumed"] == json{"products.fp8.efficiency"});
}

TEST_CASE("each what-if equals a run of the changed scenario", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(std::string("run ") + first).status == 0);
  const json why = why_json(place, "a.h5 --jobs 2");
  CHECK(why["what_if"]["rerun_s"] == why["makespan_s"]);
  CHECK(why["what_if"]["notes"].empty());
  const auto rows = rows_of(why);
  CHECK(rows.at("passes of stage 3 10 % faster") ==
        Approx(makespan(place, "-s 4 -b 8 -f 1 1 1 0.9 --backward-times 2 2 2 1.8")));
  CHECK(rows.at("p2p rendezvous") == Approx(33));
  CHECK(rows.at("one more chunk: interleaved-1f1b x2") ==
        Approx(makespan(place, "-s 4 -b 8 -f 1 --backward-times 2 --schedule interleaved-1f1b")));
  double before = 0;
  for (const json& row : why["what_if"]["rows"]) {
    CHECK(row["makespan_s"] >= before);
    CHECK(row["gain_s"].get<double>() == Approx(33 - row["makespan_s"].get<double>()).margin(1e-9));
    before = row["makespan_s"];
  }
}

TEST_CASE("what-ifs improve links and latencies of the trace's cluster", "[cli]") {
  const tests::CommandFolder place;
  place.write("cluster.xml", cluster_with(1, 100));
  place.write("job.yaml",
              "cluster: cluster.xml\ndevices: 2\nmicrobatches: 4\nforward_times: 1 s\n"
              "backward_times: 2 s\nboundary_tensor: 1 GB\ntrace: job.h5\n");
  const double before = makespan(place, "job.yaml");
  const json why = why_json(place, "job.h5");
  const auto rows = rows_of(why);
  place.write("cluster.xml", cluster_with(2, 100));
  const double faster = makespan(place, "job.yaml");
  CHECK(faster < before);
  CHECK(rows.at("cable bandwidth doubled") == Approx(faster));
  place.write("cluster.xml", cluster_with(1, 50));
  CHECK(rows.at("all latencies halved") == Approx(makespan(place, "job.yaml")));
  CHECK(why["slack"]["links"][0]["link_class"] == "cable");
  // The trace contains the cluster, so its file is no longer needed.
  REQUIRE(place.shell("rm cluster.xml").status == 0);
  place.write("cluster.xml", cluster_with(1, 100));
  REQUIRE(place.run("run job.yaml").status == 0);
  REQUIRE(place.shell("rm cluster.xml").status == 0);
  CHECK(rows_of(why_json(place, "job.h5")) == rows);
}

TEST_CASE("only a few of many stages without gain are shown", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(
      place
          .run("run -s 16 -b 64 -f 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 4 --backward-times 2 2 2 2 2 2 "
               "2 2 2 2 2 2 2 2 2 8 --trace a.h5")
          .status == 0);
  const json why = why_json(place, "a.h5");
  int stages = 0;
  for (const auto& [change, time] : rows_of(why)) stages += change.starts_with("passes of stage");
  // Only changes to the slow stage save time. The other stages are on the critical path for the
  // first microbatch only.
  CHECK(stages >= 8);
  CHECK(stages < 16);
  CHECK_THAT(why["what_if"]["notes"][0].get<std::string>(),
             Catch::StartsWith(std::to_string(16 - stages) + " more stages are left out"));
}

TEST_CASE("what-ifs try other recomputation and mark changes that do not fit", "[cli]") {
  const tests::CommandFolder place;
  const std::string scenario = PIPEWRIGHT_ROOT "/platforms/scenarios/gpt3-175b-a100.yaml";
  REQUIRE(place.run("run " + scenario + " --schedule 1f1b --trace a.h5").status == 0);
  const json why = why_json(place, "a.h5");
  const auto rows = rows_of(why);
  CHECK(!rows.contains("recompute full"));  // as it is
  CHECK(rows.contains("recompute selective"));
  const tests::ProgramResult without =
      place.run("run " + scenario + " --schedule 1f1b --set training.recompute=none --json");
  REQUIRE(without.status == 0);
  CHECK(rows.at("recompute none") == Approx(json::parse(without.out)["makespan_s"].get<double>()));
  for (const json& row : why["what_if"]["rows"]) {
    CAPTURE(row["change"]);
    if (row["change"] == "recompute none")
      CHECK(row["does_not_fit"]["peak_memory_bytes"] >
            row["does_not_fit"]["memory_capacity_bytes"]);
    if (row["change"] == "p2p blocking") CHECK(!row.contains("does_not_fit"));
  }
  CHECK_THAT(place.run("why a.h5").out, Catch::Contains("recompute none !") &&
                                            Catch::Contains("! recompute none does not fit: "));
}

TEST_CASE("what-ifs fuse small kernels, change the attention kernel and stop recomputation early",
          "[cli]") {
  const tests::CommandFolder place;
  const std::string job =
      "run --model llama-3-8b --cluster dgx-h100-8 --dp 8 --zero 3 --global-batch 16 "
      "--recompute-activations full --engine timing --stack ";
  REQUIRE(place.run(job + "torchtitan-eager --trace a.h5").status == 0);
  const json why = why_json(place, "a.h5");
  const auto rows = rows_of(why);
  const auto seconds = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run(job + words + " --json");
    REQUIRE(ran.status == 0);
    return json::parse(ran.out)["makespan_s"].get<double>();
  };
  const double eager = seconds("torchtitan-eager");
  const double compiled = seconds(
      "torchtitan-eager --set "
      "stack.fused='[optimizer, norm, activation, rope, residual, cross_entropy]'");
  CHECK(compiled < eager);
  CHECK(rows.at("small kernels fused, as by torch.compile") == Approx(compiled));
  CHECK(rows.at("attention cudnn") ==
        Approx(seconds("torchtitan-eager --set stack.attention='[cudnn]'")));
  CHECK_FALSE(rows.contains("attention fa2"));  // as it is
  const double stopping = seconds("torchtitan-eager --set stack.recompute.early_stop=true");
  CHECK(stopping < eager);
  CHECK(rows.at("recompute.early_stop on") == Approx(stopping));

  // The keys of a row make its change.
  int settable = 0;
  for (const json& row : why["what_if"]["rows"]) {
    CAPTURE(row["change"]);
    const std::string change = row["change"];
    CHECK(row["set"].empty() ==
          (change.starts_with("passes of stage") || change.ends_with("bandwidth doubled")));
    if (row["set"].empty() || !row.contains("makespan_s")) continue;
    std::string words = "torchtitan-eager --set";
    for (const json& setting : row["set"]) words += " '" + setting.get<std::string>() + "'";
    CHECK(seconds(words) == Approx(row["makespan_s"].get<double>()));
    ++settable;
  }
  CHECK(settable > 3);
  CHECK_THAT(place.run("why a.h5").out, Catch::Contains(" stack.attention='[cudnn]'\n") &&
                                            Catch::Contains(" stack.recompute.early_stop=true\n"));

  REQUIRE(place.run(job + "megatron-core --trace b.h5").status == 0);
  CHECK_FALSE(
      rows_of(why_json(place, "b.h5")).contains("small kernels fused, as by torch.compile"));
}

TEST_CASE("why lists dispatch apart from other collectives and tries other dispatchers", "[cli]") {
  const tests::CommandFolder place;
  const std::string scenario = PIPEWRIGHT_ROOT "/platforms/scenarios/mixtral-8x7b-h100.yaml";
  REQUIRE(place.run("run " + scenario + " --trace a.h5").status == 0);
  const json why = why_json(place, "a.h5");
  const auto rows = rows_of(why);
  CHECK(rows.contains("experts.dispatcher allgather"));
  CHECK(!rows.contains("experts.dispatcher alltoall"));  // as it is
  const tests::ProgramResult deepep =
      place.run("run " + scenario + " --set training.experts.dispatcher=deepep --json");
  REQUIRE(deepep.status == 0);
  CHECK(rows.at("experts.dispatcher deepep") ==
        Approx(json::parse(deepep.out)["makespan_s"].get<double>()));

  double exposed = 0;
  for (const json& collectives : why["pass_collectives"]) {
    CAPTURE(collectives);
    CHECK(collectives["exposed_s"][1].get<double>() <=
          Approx(collectives["seconds"][1].get<double>()).epsilon(1e-9));
    exposed += collectives["exposed_s"][1].get<double>();
  }
  double most = 0;
  for (const json& device : why["devices"])
    most = std::max(most, device["in_passes_s"].get<double>());
  CHECK(exposed >= most - 1e-9);
  CHECK_THAT(place.run("why a.h5 --no-what-if").out,
             Catch::Contains("collectives in passes") && Catch::Contains("\nep dispatch "));
}

TEST_CASE("what-ifs remove jitter and stragglers", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("run -s 2 -b 4 -f 1 --backward-times 2 --set 'variation.jitter=5 %' --set "
                   "'variation.stragglers={device: 1, factor: 2}' --trace a.h5")
              .status == 0);
  const auto rows = rows_of(why_json(place, "a.h5"));
  CHECK(rows.contains("no jitter"));
  CHECK(rows.at("no stragglers") < rows.at("no jitter"));
}

TEST_CASE("the number of parallel simulations does not change the report", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(std::string("run ") + first).status == 0);
  CHECK(place.run("why a.h5 --jobs 1").out == place.run("why a.h5 --jobs 3").out);
}

TEST_CASE("a change that cannot run says so in its row", "[cli]") {
  const tests::CommandFolder place;
  // The schedule has four stages with their own times, which is valid for two chunks per device
  // only.
  REQUIRE(place
              .run("run -s 2 -b 4 -f 1 1 1 1 --backward-times 2 2 2 2 --schedule "
                   "interleaved-1f1b --trace a.h5")
              .status == 0);
  const tests::ProgramResult ran = place.run("why a.h5");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out,
             Catch::Contains("cannot run:") && Catch::Contains("one more chunk: 3 chunks"));
}

TEST_CASE("what-ifs of a job without a pipeline leave transfers and chunks as they are", "[cli]") {
  const tests::CommandFolder place;
  const auto offers_transfers_or_chunks = [&](const std::string& devices) {
    REQUIRE(place
                .run("run --model llama-3-8b --gpu h100-sxm -b 8 --engine timing --trace a.h5 -s " +
                     devices)
                .status == 0);
    const auto rows = rows_of(why_json(place, "a.h5"));
    CHECK(rows.contains("recompute full"));
    return std::ranges::any_of(rows, [](const auto& row) {
      return row.first.starts_with("p2p ") || row.first.find("chunk") != std::string::npos;
    });
  };
  CHECK_FALSE(offers_transfers_or_chunks("1"));
  CHECK(offers_transfers_or_chunks("2"));
}

TEST_CASE("what-ifs do not recommend a job that the stack refuses", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("run --model llama-3-8b --gpu h100-sxm -s 2 -b 8 --engine timing --stack "
                   "deepspeed --trace a.h5")
              .status == 0);
  CHECK_THAT(place.run("why a.h5").out,
             Catch::Contains("cannot run:") && Catch::Contains("deepspeed refuses this job"));
  CHECK(std::isnan(rows_of(why_json(place, "a.h5")).at("one more chunk: interleaved-1f1b x2")));
}

TEST_CASE("a trace whose scenario cannot run still gets a report", "[cli]") {
  const tests::CommandFolder place;
  place.write("plan.csv", both_at_once);
  REQUIRE(
      place.run("run -s 2 -b 2 -f 1 --backward-times 2 --schedule plan.csv --trace a.h5").status ==
      0);
  REQUIRE(place.shell("rm plan.csv").status == 0);
  const tests::ProgramResult ran = place.run("why a.h5");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("of the critical path"));
  CHECK_THAT(ran.err, Catch::Contains("no what-if: a.h5: the scenario cannot be run again") &&
                          Catch::Contains("plan.csv"));
  CHECK(place.run("why a.h5 --no-what-if").err.empty());
}

TEST_CASE("a file that has changed since the run is noted", "[cli]") {
  const tests::CommandFolder place;
  place.write("plan.csv", both_at_once);
  REQUIRE(place
              .run("run -s 2 -b 2 -f 1 --backward-times 2 --schedule plan.csv "
                   "--trace a.h5")
              .status == 0);
  place.write("plan.csv", one_by_one);
  const json why = why_json(place, "a.h5");
  CHECK(why["what_if"]["rerun_s"] != why["makespan_s"]);
  CHECK_THAT(why["what_if"]["notes"][0].get<std::string>(),
             Catch::Contains("gains are relative to the new "
                             "time"));
}

TEST_CASE("why refuses wrong arguments", "[cli]") {
  const tests::CommandFolder place;
  const auto refuses = [&](const std::string& words, const char* message) {
    const tests::ProgramResult ran = place.run("why " + words);
    CAPTURE(words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::Contains(message));
  };
  refuses("", "why needs a trace");
  refuses("a.h5 b.h5", "takes one trace");
  refuses("a.h5 --jobs 0", "--jobs is 0; allowed: 1 or more");
  refuses("none.h5", "none.h5");
  place.write("text.h5", "no trace");
  refuses("text.h5", "text.h5");
  CHECK_THAT(place.run("why --help").out, Catch::Contains("pipewright why gpt.h5"));
}
