#include "schedules/search/search.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "schedules/families/catalog.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using Json = nlohmann::json;

namespace {

// Stages with different times, and a latency. The schedules of the catalog assume equal stages.
const std::string uneven =
    "-s 4 -b 12 -f 10 11 12 14 --input-grad-times 11 11 12 15 --weight-grad-times 7 8 8 10 "
    "--p2p-time 0.5";

Json parsed(const tests::ProgramResult& ran) {
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return Json::parse(ran.out);
}

double max_in_flight(const Json& run) {
  double peak = 0;
  for (const Json& device : run["devices"])
    peak = std::max(peak, device["peak_in_flight"].get<double>());
  return peak;
}

std::string error(const tests::CommandFolder& place, const std::string& words) {
  const tests::ProgramResult ran = place.run(words);
  CHECK(ran.status == 2);
  CHECK(ran.out.empty());
  CHECK(place.files().empty());
  return ran.err;
}

}  // namespace

TEST_CASE("schedule search writes a schedule that runs as fast as reported", "[cli][search]") {
  const tests::CommandFolder place;
  const Json result =
      parsed(place.run("schedule search " + uneven + " --memory-limit 3 --json -o best.csv"));
  const Json run = parsed(place.run("run " + uneven + " --schedule best.csv --json"));
  CHECK(run["makespan_s"].get<double>() ==
        Approx(result["makespan_s"].get<double>()).epsilon(1e-9));
  CHECK(max_in_flight(run) <= 3);
  CHECK(max_in_flight(result) == max_in_flight(run));
}

TEST_CASE("schedule search is never worse than a schedule of the catalog that fits",
          "[cli][search]") {
  const tests::CommandFolder place;
  for (const double limit : {2.0, 2.5, 4.0, 8.0}) {
    const Json result = parsed(
        place.run(fmt::format("schedule search {} --memory-limit {} --json", uneven, limit)));
    CHECK(max_in_flight(result) <= limit);
    for (const auto& entry : schedules::catalog()) {
      // The search does not cover schedules with two copies of the weights, fused pairs or slices.
      const schedules::Parameters sizes{.devices = 4, .microbatches = 12};
      if (!schedules::is_searchable(entry.make(sizes))) continue;
      const tests::ProgramResult ran =
          place.run(fmt::format("run {} --engine timing --schedule {} --json", uneven, entry.name));
      if (ran.status != 0) continue;
      const Json run = Json::parse(ran.out);
      if (max_in_flight(run) > limit) continue;
      INFO(entry.name << " within " << limit);
      CHECK(result["makespan_s"].get<double>() <= run["makespan_s"].get<double>() * (1 + 1e-9));
    }
  }
}

TEST_CASE("schedule search reports bound and gap in JSON", "[cli][search]") {
  const tests::CommandFolder place;
  const Json json = parsed(place.run("schedule search " + uneven + " --memory-limit 3 --json"));
  CHECK(json["objective"] == "makespan");
  CHECK(json["memory_limit"] == 3);
  CHECK(json["memory_limit_unit"] == "microbatches");
  CHECK(json["interrupted"] == false);
  CHECK(!json["origin"].get<std::string>().empty());
  const double bound = json["lower_bound_s"].get<double>();
  CHECK(bound > 0);
  CHECK(json["gap"].get<double>() ==
        Approx(json["makespan_s"].get<double>() / bound - 1).margin(1e-12));
  for (const char* key : {"schedule", "num_stages", "bubble_ratio", "span_bubble_s", "devices"})
    CHECK(json.contains(key));
}

TEST_CASE("schedule search for the span leaves no bubble in it if memory suffices",
          "[cli][search]") {
  const std::string unit = "-s 4 -b 8 -f 1 --input-grad-times 1 --weight-grad-times 1";
  const tests::CommandFolder place;
  const Json json =
      parsed(place.run("schedule search " + unit + " --objective span --memory-limit 4 --json"));
  CHECK(json["objective"] == "span");
  CHECK(json["span_bubble_s"].get<double>() == Approx(0).margin(1e-9));
  CHECK(json["lower_bound_s"].get<double>() == Approx(24));
}

TEST_CASE("a limit in bytes includes the permanent memory of a device", "[cli][search]") {
  const tests::CommandFolder place;
  const std::string bytes = uneven +
                            " --set activation.per_microbatch='[2 GiB, 2 GiB, 2 GiB, 3 GiB]' "
                            "activation.released_by_input_grad='25 %' state.weights='4 GiB' ";
  const Json json = parsed(
      place.run("schedule search " + bytes + " --memory-limit '10.5 GiB' --json -o best.csv"));
  CHECK(json["memory_limit"].get<double>() == 10.5 * (1ULL << 30U));
  CHECK(json["memory_limit_unit"] == "bytes");
  const Json run =
      parsed(place.run("run " + bytes + " --engine timing --schedule best.csv --json"));
  for (const Json& device : run["devices"])
    CHECK(device["peak_memory_bytes"].get<double>() <= 10.5 * (1ULL << 30U));
  CHECK(run["makespan_s"].get<double>() == Approx(json["makespan_s"].get<double>()).epsilon(1e-9));
}

TEST_CASE("the error of a memory limit that is too low names the least limit, in the user's unit",
          "[cli][search]") {
  const tests::CommandFolder place;
  const std::string state = " --set activation.per_microbatch='1536 MiB' state.weights='4 GiB'";
  CHECK_THAT(error(place, "schedule search " + uneven + " --memory-limit 0.5 -o best.csv"),
             Catch::Contains("of 0.5 microbatches") && Catch::Contains("needs, 1 microbatch:"));
  CHECK_THAT(error(place, "schedule search " + uneven + state + " --memory-limit '5 GiB'"),
             Catch::Contains("of 5 GiB") && Catch::Contains("needs, 5.5 GiB:"));
  CHECK_THAT(error(place, "schedule frontier " + uneven + state + " --memory-limits '1 GiB:8 GiB'"),
             Catch::Contains("needs, 5.5 GiB:"));
  CHECK(place.run("schedule search " + uneven + state + " --memory-limit '5.5 GiB'").status == 0);
}

TEST_CASE("schedule search refuses incomplete or invalid options", "[cli][search]") {
  const tests::CommandFolder place;
  const auto refused = [&](const std::string& words) {
    return error(place, "schedule search " + words);
  };
  CHECK_THAT(refused("-s 4 -b 8 -f 1"), Catch::Contains("--input-grad-times"));
  CHECK_THAT(refused("-s 4 -b 8 --input-grad-times 1 --weight-grad-times 1"),
             Catch::Contains("forward_times"));
  CHECK_THAT(refused("-s 4 -b 8 -f 1 --set backward_times=2"),
             Catch::Contains("runs them separately"));
  CHECK_THAT(refused(uneven + " --memory-limit '8 GiB'"),
             Catch::Contains("activation.per_microbatch"));
  CHECK_THAT(refused(uneven + " --memory-limit '8 parsecs'"), Catch::Contains("--memory-limit"));
  CHECK_THAT(refused(uneven + " --memory-limit=-3"), Catch::Contains("--memory-limit"));
  CHECK_THAT(refused(uneven + " --objective speed"), Catch::Contains("allowed: makespan, span"));
  CHECK_THAT(refused(uneven + " --effort 0"), Catch::Contains("--effort"));
  CHECK_THAT(refused(uneven + " -o best.txt"), Catch::Contains(".txt"));
  CHECK_THAT(refused("-s 20000 -b 8 -f 1 --input-grad-times 1 --weight-grad-times 1"),
             Catch::Contains("at most 16384 devices"));
  CHECK_THAT(refused("-s 4 -b 8 -f 1 2 3 --input-grad-times 1 --weight-grad-times 1"),
             Catch::Contains("forward_times has 3 values"));
}

TEST_CASE("schedule search is deterministic, and prints a table of the schedules that fit",
          "[cli][search]") {
  const tests::CommandFolder place;
  const std::string words = "schedule search " + uneven + " --memory-limit 3 -o best.csv";
  const tests::ProgramResult once = place.run(words);
  const std::string csv = place.read("best.csv");
  CHECK(place.run(words).out == once.out);
  CHECK(place.read("best.csv") == csv);
  CHECK_THAT(once.out, Catch::Contains("v-half") && Catch::Contains("exceed the limit") &&
                           Catch::Contains("gpipe 12") && Catch::Contains("wrote    best.csv"));
}

TEST_CASE("Ctrl-C ends a search with the best schedule so far", "[cli][search]") {
  const tests::CommandFolder place;
  // Uninterrupted, this search takes about twenty seconds and ends with status 0.
  const tests::ProgramResult ran = place.shell(
      "'" PIPEWRIGHT_PROGRAM
      "' schedule search -s 7 -b 40 -f 10 12 11 9 13 10 12 "
      "--input-grad-times 11 9 12 13 10 9 11 --weight-grad-times 7 8 6 9 8 7 6 --p2p-time 0.7 "
      "--memory-limit 3 --effort 60 --json -o best.csv & sleep 1; kill -INT $!; wait $!");
  CHECK(ran.status == 130);
  const Json json = Json::parse(ran.out);
  CHECK(json["interrupted"] == true);
  CHECK(json["makespan_s"].get<double>() >= json["lower_bound_s"].get<double>() * (1 - 1e-9));
  CHECK(place.run("schedule check best.csv").status == 0);
}

TEST_CASE("the frontier falls with memory, and stays above its bound", "[cli][search]") {
  const tests::CommandFolder place;
  const Json points = parsed(place.run("schedule frontier " + uneven +
                                       " --memory-limits 2:5 --json -o f.csv f.svg f.png f.pdf"));
  REQUIRE(points.size() == 7);
  double before = 1e300;
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i]["memory_limit"].get<double>() == Approx(2 + 0.5 * static_cast<double>(i)));
    const double now = points[i]["makespan_s"].get<double>();
    CHECK(now <= before);
    CHECK(now >= points[i]["lower_bound_s"].get<double>() * (1 - 1e-9));
    CHECK(max_in_flight(points[i]) <= points[i]["memory_limit"].get<double>());
    before = now;
  }
  const std::string csv = place.read("f.csv");
  CHECK_THAT(csv, Catch::StartsWith("schedule,memory_microbatches,makespan_s") &&
                      Catch::Contains("\r\nfound,2.5,") && Catch::Contains("\r\n1f1b,4,"));
  CHECK(place.files() == "f.csv f.pdf f.png f.svg");
  CHECK_THAT(place.read("f.svg"), Catch::Contains("<svg"));
}

TEST_CASE("schedule frontier takes limits with a step, and refuses invalid limits",
          "[cli][search]") {
  const tests::CommandFolder place;
  const std::string words = "schedule frontier " + uneven + " --memory-limits ";
  CHECK(parsed(place.run(words + "2:4:1 --json")).size() == 3);
  for (const auto& [limits, message] :
       {std::pair{"4", "takes A:B"}, std::pair{"4:2", "is below the start"},
        std::pair{"2:'8 GiB'", "different units"},
        std::pair{"2:3:'1 GiB'", "another unit than the limits"},
        std::pair{"2:4:0.0001", "are supported"}, std::pair{"2:x", "--memory-limits"}})
    CHECK_THAT(error(place, words + limits), Catch::Contains(message));
  CHECK_THAT(error(place, words + "2:3 -o f.html"), Catch::Contains("f.html"));
}
