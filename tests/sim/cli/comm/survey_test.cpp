#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;

namespace {

// 8 nodes under two leaves and four spines that can fail apart.
void make_fabric(const tests::Workplace& place) {
  REQUIRE(place
              .run("platform make --node a100-4nic --nodes 8 --fabric leaf-spine --leaf-nodes 4 "
                   "--oversubscription 2 --spines 4 -o f.xml")
              .status == 0);
}

double seconds(const tests::Workplace& place, const std::string& options) {
  const auto run =
      place.run("comm bench --cluster f.xml --op all-to-all --sizes 256M --json " + options);
  return nlohmann::json::parse(run.out)["rows"][0]["seconds"];
}

}  // namespace

TEST_CASE("comm survey has each link and switch fail, and says what that costs", "[cli][comm]") {
  const tests::Workplace place;
  make_fabric(place);
  const tests::Ran ran =
      place.run("comm survey --cluster f.xml --op all-to-all --size 256M -o s.json");
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Catch::StartsWith("f.xml: all-to-all of 256.0 MiB over 64 ranks, ") &&
                          Catch::Contains("first failure that cuts ranks off: link "));
  const auto json = nlohmann::json::parse(place.read("s.json"));
  // Three of four spines are left for what half of the traffic waits for.
  const double whole = json["whole_s"];
  bool found = false;
  for (const auto& failure : json["failures"])
    if (failure["name"] == "spine-1-switch") {
      found = true;
      CHECK(failure["seconds"].get<double>() / whole == Approx(4.0 / 3).epsilon(0.02));
      CHECK(failure["seconds"] == Approx(seconds(place, "--fail spine-1-switch")));
    }
  CHECK(found);
  CHECK(json["failures"].front()["cut_off"].is_string());
  CHECK(json["failures"].front()["seconds"].is_null());
}

TEST_CASE("comm survey tells what collisions of hashes cost", "[cli][comm]") {
  const tests::Workplace place;
  make_fabric(place);
  const tests::Ran ran = place.run(
      "comm survey --cluster f.xml --op all-to-all --size 64M --hash 5 --flows 1 16 -o h.json");
  CHECK(ran.err.empty());
  const auto json = nlohmann::json::parse(place.read("h.json"));
  const double spread = json["spread_s"];
  const auto& one = json["by_flows"][0];
  const auto& many = json["by_flows"][1];
  CHECK(one["median_s"].get<double>() > spread);
  CHECK(one["worst_s"].get<double>() >= one["p90_s"].get<double>());
  CHECK(many["median_s"].get<double>() < one["median_s"].get<double>());
  CHECK(many["median_s"].get<double>() >= spread * (1 - 1e-9));
}

TEST_CASE("what fails is named, and what is slower is slower", "[cli][comm]") {
  const tests::Workplace place;
  make_fabric(place);
  const double whole = seconds(place, "");
  CHECK(seconds(place, "--slow spine-0-switch=0.5") > 1.5 * whole);
  CHECK(seconds(place, "--multipath hash:1") > whole);
  const auto complaint = [&](const std::string& words) {
    const tests::Ran ran = place.run("comm bench --cluster f.xml --sizes 1M " + words);
    CHECK(ran.status == 2);
    return ran.err;
  };
  CHECK_THAT(complaint("--fail spine-9"), Catch::Contains("has no link, NIC or switch 'spine-9'"));
  CHECK_THAT(complaint("--slow spine-0"), Catch::Contains("--slow takes NAME=PART"));
  CHECK_THAT(complaint("--multipath even"), Catch::Contains("spread, file, or hash"));
  CHECK_THAT(complaint("--op all-to-all --fail leaf-0-switch"), Catch::Contains("leads from"));
  CHECK_THAT(place.run("comm survey --cluster dgx-a100 --hash 3").err,
             Catch::Contains("no two ways are equally short"));
}

TEST_CASE("an iteration is asked as well, and a run takes what fails", "[cli][comm]") {
  const tests::Workplace place;
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
