#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("comm interference accepts a layout and traffic as options", "[cli][comm]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run(
      "comm interference --cluster dgx-a100 --tp 8 --dp 2 --pp 2 --traffic 'all-reduce 1G dp' "
      "'send-recv 256M pp' 'all-gather 64M tp ring' -o found.json");
  CHECK(ran.err.empty());
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("dgx-a100: 32 ranks, tp 8, dp 2, pp 2\n") &&
                          Catch::Contains("wrote   found.json\n"));
  const auto json = nlohmann::json::parse(place.read("found.json"));
  const auto& encounters = json["encounters"];
  REQUIRE(encounters.size() == 3);
  // Gradient rings of two replicas and tensors between two stages share NICs equally, so both take
  // twice as long, apart from latency. Groups of tp use NVLink only.
  for (const char* key : {"one_slow_down", "other_slow_down"}) {
    CHECK(encounters[0][key] > 1.7);
    CHECK(encounters[0][key] < 2 + 1e-6);
  }
  CHECK(encounters[0]["shared_links"][0]["class"] == "nic");
  CHECK(encounters[1]["one_slow_down"] == 1);
  CHECK(encounters[1]["shared_links"].empty());
}

TEST_CASE("comm interference uses the traffic of a job", "[cli][comm]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run("comm interference '" PIPEWRIGHT_ROOT
                "/platforms/scenarios/mixtral-8x7b-h100.yaml' -o found.json");
  CHECK(ran.status == 0);
  const auto json = nlohmann::json::parse(place.read("found.json"));
  std::vector<std::string> names;
  for (const auto& kind : json["traffic"]) {
    names.push_back(kind["name"]);
    CHECK(kind["alone_s"] > 0);
  }
  CHECK(names == std::vector<std::string>{"tp", "ep", "etp", "dp", "pp"});
  CHECK(json["encounters"].size() == 10);
  for (const auto& encounter : json["encounters"]) {
    CHECK(encounter["one_slow_down"] >= 1 - 1e-9);
    CHECK(encounter["other_slow_down"] >= 1 - 1e-9);
  }
  const auto repeated = place.run("comm interference '" PIPEWRIGHT_ROOT
                                  "/platforms/scenarios/mixtral-8x7b-h100.yaml'");
  CHECK(ran.out == repeated.out + "wrote   found.json\n");
}

TEST_CASE("comm interference without a model uses the tensors between stages", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("plain.yaml",
              "num_stages: 4\nnum_batches: 8\nforward_times: 1 ms\nbackward_times: 2 ms\n"
              "cluster: dgx-a100\nboundary_tensor: 16 MiB\n");
  const tests::ProgramResult ran = place.run("comm interference plain.yaml");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("pp            3           2  16.0 MiB each way"));
}

TEST_CASE("comm interference rejects invalid traffic with the reason", "[cli][comm]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("comm interference --help").out, Catch::Contains("'send-recv 32M pp'"));
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("comm interference " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  const std::string layout = "--cluster dgx-a100 --dp 4 ";
  CHECK_THAT(complaint(""), Catch::Contains("comm interference needs a job"));
  CHECK_THAT(complaint(layout), Catch::Contains("comm interference needs a job"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M'"), Catch::Contains("has 2 words"));
  CHECK_THAT(complaint(layout + "--traffic 'scan 1M dp'"),
             Catch::Contains("unknown operation 'scan'"));
  CHECK_THAT(complaint(layout + "--traffic 'allreduce 1M dp'"),
             Catch::Contains("unknown operation; did you mean 'all-reduce'?"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce -5 dp'"), Catch::Contains("--traffic"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M,2M dp'"),
             Catch::Contains("is not a single size"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M rack'"),
             Catch::Contains("unknown groups 'rack'"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M dp magic'"),
             Catch::Contains("unknown algorithm 'magic'"));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M tp'"), Catch::Contains("one rank each"));
  CHECK_THAT(complaint(layout + "--tp 64 --traffic 'all-reduce 1M tp'"),
             Catch::Contains("= 256 GPUs, but dgx-a100 has 32; allowed: "));
  CHECK_THAT(complaint(layout + "--traffic 'all-reduce 1M dp' -o a.svg"), Catch::Contains(".json"));
}
