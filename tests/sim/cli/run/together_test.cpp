#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

// Platform file of two hosts on either side of a trunk with 1 GB/s in each direction.
const char* const trunk = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a-0" speed="1Gf"/><host id="a-1" speed="1Gf"/>
  <host id="b-0" speed="1Gf"/><host id="b-1" speed="1Gf"/>
  <link id="trunk" bandwidth="1GBps" latency="0s" sharing_policy="SPLITDUPLEX"/>
  <route src="a-0" dst="b-0"><link_ctn id="trunk" direction="UP"/></route>
  <route src="a-0" dst="b-1"><link_ctn id="trunk" direction="UP"/></route>
  <route src="a-1" dst="b-0"><link_ctn id="trunk" direction="UP"/></route>
  <route src="a-1" dst="b-1"><link_ctn id="trunk" direction="UP"/></route>
  <route src="a-0" dst="a-1"><link_ctn id="trunk" direction="UP"/></route>
  <route src="b-0" dst="b-1"><link_ctn id="trunk" direction="UP"/></route>
</zone></platform>
)";

// A pipeline with one stage on either side of the trunk: F of 1 s, 1 GB over the trunk, F, B of 2
// s, 1 GB back, and B. An iteration alone takes 8 s and uses the trunk for 1 s in either direction.
std::string pipeline(const std::string& side) {
  return "cluster: trunk.xml\nplacement: [a-" + side + ", b-" + side +
         "]\ndevices: 2\nmicrobatches: 1\nschedule: 1f1b\nforward_times: 1 s\n"
         "backward_times: 2 s\nboundary_tensor: 1 GB\n";
}

struct Two : tests::CommandFolder {
  Two() {
    write("trunk.xml", trunk);
    write("one.yaml", pipeline("0"));
    write("other.yaml", pipeline("1"));
  }
  json together(const std::string& words) const {
    const tests::ProgramResult ran = run("run " + words + " --together --json");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return json::parse(ran.out);
  }
  std::string error(const std::string& words) const {
    const tests::ProgramResult ran = run("run " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  }
};

}  // namespace

// If the jobs start d apart, at most 1 s, each message takes 2 s - d instead of 1 s. An iteration
// has one message in each direction.
TEST_CASE("two pipelines over one trunk slow down according to their phase", "[together]") {
  const Two place;
  const json sharing = place.together("one.yaml other.yaml --phase 0 0.0625 0.125 0.5 0.9375");
  const std::vector<double> iteration{10, 9, 8, 8, 9};
  REQUIRE(sharing["phases"].size() == iteration.size());
  for (std::size_t i = 0; i < iteration.size(); ++i)
    for (const json& job : sharing["phases"][i]["jobs"]) {
      CAPTURE(i, job.dump());
      CHECK(job["alone_s"].get<double>() == Approx(8));
      CHECK(job["iteration_s"].get<double>() == Approx(iteration[i]));
      CHECK(job["slow_down"].get<double>() == Approx(iteration[i] / 8));
      CHECK(job["iterations"] >= 3);
    }
  CHECK(sharing["phases"][1]["jobs"][1]["offset_s"].get<double>() == Approx(0.5));
  CHECK(sharing["worst_phase"] == 0);
  const json& links = sharing["phases"][0]["shared_links"];
  REQUIRE(links.size() == 2);
  for (const json& link : links)
    for (const json& use : link["use_by_job"])
      CHECK(use.get<double>() == Approx(0.1).epsilon(0.01));  // 1 s of 10 s
}

TEST_CASE("phases are spread evenly over an iteration of the first job", "[together]") {
  const Two place;
  const json sharing = place.together("one.yaml other.yaml --phases 4 --jobs 1");
  REQUIRE(sharing["phases"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(sharing["phases"][i]["jobs"][1]["offset_s"].get<double>() ==
          Approx(2 * static_cast<double>(i)));
}

TEST_CASE("any number of jobs run at once, also of one scenario", "[together]") {
  const Two place;
  place.run("platform make --node dgx-h100 --nodes 3 -o nodes.xml");
  place.write("small.yaml",
              "cluster: nodes.xml\ndevices: 8\nmicrobatches: 8\nschedule: 1f1b\n"
              "forward_times: 1 ms\nbackward_times: 2 ms\nboundary_tensor: 1 MB\n");
  const json sharing = place.together("small.yaml small.yaml small.yaml --placing interleaved");
  REQUIRE(sharing["jobs"].size() == 3);
  CHECK(sharing["jobs"][2]["name"] == "small-3");
  CHECK(sharing["jobs"][2]["first_host"] == "node-2-gpu-0");
  CHECK(sharing["share_links"] == false);
  CHECK(sharing["phases"].empty());
  for (const json& job : sharing["jobs"]) CHECK(job["slow_down_most"] == 1);
}

TEST_CASE("jobs that run at once are on one page and have a trace each", "[together]") {
  const Two place;
  const tests::ProgramResult ran = place.run(
      "run one.yaml other.yaml --together --phase 0.0625 -o both.html both.json --trace "
      "both.h5");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.out, Contains("trace   both-one.h5\ntrace   both-other.h5\nwrote   both.html\n"
                               "wrote   both.json\n"));
  CHECK_THAT(place.read("both.html"),
             Contains("other takes 1.125 times as long as alone and starts "
                      "500.0 ms later"));
  const tests::ProgramResult shown = place.run("show both-other.h5 --json");
  REQUIRE(shown.status == 0);
  const json summary = json::parse(shown.out);
  CHECK(summary["iterations"] == 4);
  CHECK(summary["makespan_s"].get<double>() == Approx(4 * 9));
}

TEST_CASE("the same jobs give the same bytes", "[together]") {
  const Two place;
  const std::string words = "run one.yaml other.yaml --together --phase 0.3 -o ";
  const tests::ProgramResult first = place.run(words + "first.html");
  const tests::ProgramResult again = place.run(words + "again.html");
  CHECK(first.out.substr(0, first.out.find("wrote")) ==
        again.out.substr(0, again.out.find("wrote")));
  CHECK(place.read("first.html") == place.read("again.html"));
}

TEST_CASE("collectives in passes contend on links that jobs share", "[together]") {
  const Two place;
  place.run(
      "platform make --node dgx-h100 --nodes 4 --fabric leaf-spine --leaf-nodes 2 "
      "--oversubscription 4 -o tree.xml");
  const std::string common =
      "cluster: tree.xml\nmodel: mixtral-8x7b\nmicrobatches: 2\nschedule: 1f1b\n"
      "training: {sequence: 256}\n";
  place.write("experts.yaml", common + "parallel: {tp: 2, sp: true, ep: 8, dp: 8}\n");
  place.write("inside.yaml", common + "parallel: {tp: 8, sp: true, dp: 2}\n");
  const tests::ProgramResult ran =
      place.run("run experts.yaml inside.yaml --together --placing interleaved --phase 0");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.err, Contains("experts: collectives inside its passes cross links that another "
                               "job uses and are simulated individually"));
  CHECK_THAT(ran.err, !Contains("inside: collectives"));
}

TEST_CASE("jobs that cannot run at once are refused with a reason", "[together]") {
  const Two place;
  CHECK_THAT(place.error("one.yaml --together"), Contains("needs two or more scenarios"));
  CHECK_THAT(place.error("one.yaml other.yaml"), Contains("--together"));
  CHECK_THAT(place.error("one.yaml --phases 4"), Contains("--phases needs --together"));
  CHECK_THAT(place.error("one.yaml other.yaml --together --repeat 3"),
             Contains("--repeat needs a single scenario"));
  CHECK_THAT(place.error("one.yaml other.yaml --together --placing here"),
             Contains("allowed: side-by-side, interleaved"));
  CHECK_THAT(place.error("one.yaml other.yaml --together --phase 0.5 --phases 2"),
             Contains("leave out one"));
  CHECK_THAT(place.error("one.yaml other.yaml --together -o both.png"),
             Contains("run --together writes .html and .json files only"));
  CHECK_THAT(place.error("one.yaml one.yaml --together"),
             Contains("one and one-2 are both placed on host 'a-0'"));
  CHECK_THAT(place.error("one.yaml other.yaml --together --schedule 1f1b gpipe"),
             Contains("one: has 2 schedules, but a job runs one"));
  CHECK_THAT(place.error("one.yaml other.yaml --together --engine timing"),
             Contains("does not model contention"));
  place.write("elsewhere.yaml",
              "cluster: dgx-h100\ndevices: 2\nmicrobatches: 1\nschedule: 1f1b\n"
              "forward_times: 1 s\nbackward_times: 2 s\n");
  CHECK_THAT(place.error("one.yaml elsewhere.yaml --together"),
             Contains("jobs that run together must be on one cluster"));
  place.write("instant.yaml",
              "cluster: trunk.xml\nplacement: [a-1, b-1]\ndevices: 2\n"
              "microbatches: 1\nschedule: 1f1b\nforward_times: 0 s\n"
              "backward_times: 0 s\n");
  CHECK_THAT(place.error("one.yaml instant.yaml --together"),
             Contains("instant: an iteration takes no time"));
  place.write("nowhere.yaml",
              "devices: 2\nmicrobatches: 1\nschedule: 1f1b\n"
              "forward_times: 1 s\nbackward_times: 2 s\n");
  CHECK_THAT(place.error("nowhere.yaml nowhere.yaml --together"),
             Contains("nowhere: has no cluster"));
}
