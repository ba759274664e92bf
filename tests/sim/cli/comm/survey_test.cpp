#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;

namespace {

// 8 nodes below two leaves, with four spines that can fail separately.
void make_fabric(const tests::CommandFolder& place) {
  REQUIRE(place
              .run("platform make --node a100-4nic --nodes 8 --fabric leaf-spine --leaf-nodes 4 "
                   "--oversubscription 2 --spines 4 -o f.xml")
              .status == 0);
}

double seconds(const tests::CommandFolder& place, const std::string& options) {
  const auto run =
      place.run("comm bench --cluster f.xml --op all-to-all --sizes 256M --json " + options);
  return nlohmann::json::parse(run.out)["rows"][0]["seconds"];
}

}  // namespace

TEST_CASE("comm survey reports the cost of each failed link and switch", "[cli][comm]") {
  const tests::CommandFolder place;
  make_fabric(place);
  const tests::ProgramResult ran =
      place.run("comm survey --cluster f.xml --op all-to-all --size 256M -o s.json");
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Catch::StartsWith("f.xml: all-to-all of 256.0 MiB over 64 ranks, ") &&
                          Catch::Contains("first failure that cuts ranks off: link "));
  const auto json = nlohmann::json::parse(place.read("s.json"));
  // Half of the traffic crosses spines and limits the operation. After the failure three of four
  // spines carry it.
  const double whole = json["whole_s"];
  bool has_spine = false;
  for (const auto& failure : json["failures"])
    if (failure["name"] == "spine-1-switch") {
      has_spine = true;
      CHECK(failure["seconds"].get<double>() / whole == Approx(4.0 / 3).epsilon(0.02));
      CHECK(failure["seconds"] == Approx(seconds(place, "--fail spine-1-switch")));
    }
  CHECK(has_spine);
  CHECK(json["failures"].front()["cut_off"].is_string());
  CHECK(json["failures"].front()["seconds"].is_null());
}

TEST_CASE("comm survey reports the cost of hash collisions", "[cli][comm]") {
  const tests::CommandFolder place;
  make_fabric(place);
  const tests::ProgramResult ran = place.run(
      "comm survey --cluster f.xml --op all-to-all --size 64M --hash 5 --flows 1 16 -o h.json");
  CHECK(ran.err.empty());
  const auto json = nlohmann::json::parse(place.read("h.json"));
  const double spread = json["spread_s"];
  const auto& single_flow = json["by_flows"][0];
  const auto& many_flows = json["by_flows"][1];
  CHECK(single_flow["median_s"].get<double>() > spread);
  CHECK(single_flow["worst_s"].get<double>() >= single_flow["p90_s"].get<double>());
  CHECK(many_flows["median_s"].get<double>() < single_flow["median_s"].get<double>());
  CHECK(many_flows["median_s"].get<double>() >= spread * (1 - 1e-9));
}

TEST_CASE("failed and slow elements are selected by name", "[cli][comm]") {
  const tests::CommandFolder place;
  make_fabric(place);
  const double whole = seconds(place, "");
  // Flows that are spread evenly wait for the quarter on the slow spine. Adaptive routing loads the
  // four spines in the ratio 1 : 2 : 2 : 2, so that they carry 3.5 / 4 of the rate.
  CHECK(seconds(place, "--slow spine-0-switch=0.5 --multipath spread") > 1.5 * whole);
  CHECK(seconds(place, "--slow spine-0-switch=0.5") / whole == Approx(4 / 3.5).epsilon(0.02));
  CHECK(seconds(place, "--multipath hash:1") > whole);
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("comm bench --cluster f.xml --sizes 1M " + words);
    CHECK(ran.status == 2);
    return ran.err;
  };
  CHECK_THAT(complaint("--fail spine-9"), Catch::Contains("has no link, NIC or switch 'spine-9'"));
  CHECK_THAT(complaint("--slow spine-0"), Catch::Contains("--slow takes NAME=PART"));
  CHECK_THAT(complaint("--multipath even"), Catch::Contains("adaptive, spread, file, or hash"));
  CHECK_THAT(complaint("--op all-to-all --fail leaf-0-switch"), Catch::Contains("leads from"));
  CHECK_THAT(place.run("comm survey --cluster dgx-a100 --hash 3").err,
             Catch::Contains("has no equally short paths"));
}

TEST_CASE("comm survey accepts a scenario, and run accepts slow elements", "[cli][comm]") {
  const tests::CommandFolder place;
  make_fabric(place);
  place.write("job.yaml",
              "devices: 2\nmicrobatches: 8\nforward_times: 1 ms\nbackward_times: 2 ms\n"
              "boundary_tensor: 64 MiB\ncluster: f.xml\nplacement: [node-0-gpu-0, node-4-gpu-0]\n");
  CHECK_THAT(place.run("comm survey job.yaml").out,
             Catch::StartsWith("f.xml: an iteration, ") && Catch::Contains("cut off"));
  const auto makespan = [&](const std::string& words) {
    return nlohmann::json::parse(place.run("run job.yaml --json " + words).out)["makespan_s"]
        .get<double>();
  };
  CHECK(makespan("--slow node-0-gpu-0=0.1") >= makespan(""));
}
