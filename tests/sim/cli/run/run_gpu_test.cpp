#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/text/library.hpp"
#include "support/program.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

constexpr auto words = "run --model llama-3-8b -s 2 -b 4 --quiet ";

double seconds(const tests::CommandFolder& place, const std::string& options) {
  const tests::ProgramResult ran = place.run(words + options + " --json");
  INFO(options << ": " << ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out)["makespan_s"].get<double>();
}

}  // namespace

TEST_CASE("every GPU of the library runs a model in a time between its peak and 50 times that",
          "[run]") {
  const tests::CommandFolder place;
  for (const std::string& gpu : config::library_names("gpus", ".yaml")) {
    const tests::ProgramResult ran =
        place.run(words + std::string("--p2p-time '10 us' --gpu ") + gpu + " --json");
    INFO(gpu << ": " << ran.err);
    REQUIRE(ran.status == 0);
    const double mfu = json::parse(ran.out)["mfu"].get<double>();
    CHECK((mfu > 0.02 && mfu < 1));
  }
}

TEST_CASE("a run on a preliminary GPU says so, with the times at the ends of its ranges", "[run]") {
  const tests::CommandFolder place;
  const std::string alone = "--p2p-time '10 us' --gpu ";
  const tests::ProgramResult ran = place.run(words + alone + "vr200");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out,
             Catch::Contains("vr200 is preliminary: published are memory_bandwidth 19.4 TB/s to "
                             "22 TB/s") &&
                 Catch::Contains("predictions use the middle; at the ends of the ranges, an "
                                 "iteration of 1f1b takes "));
  CHECK_THAT(place.run(words + alone + "gb300").out, !Catch::Contains("preliminary"));

  place.write("next.yaml", "{like: b200, memory_bandwidth: {low: 4 TB/s, high: 12 TB/s}}\n");
  const double low = seconds(place, alone + "next.yaml --set gpu.memory_bandwidth='4 TB/s'");
  const double middle = seconds(place, alone + "next.yaml");
  const double high = seconds(place, alone + "next.yaml --set gpu.memory_bandwidth='12 TB/s'");
  CHECK(high < middle);
  CHECK(middle < low);
  CHECK_THAT(place.run(words + alone + "next.yaml").out,
             Catch::Contains("next is preliminary: published are memory_bandwidth 4 TB/s to 12"));
  CHECK_THAT(place.run(words + alone + "next.yaml --set gpu.memory_bandwidth='12 TB/s'").out,
             !Catch::Contains("preliminary"));
}

TEST_CASE("a run on a cluster of preliminary GPUs says so", "[run]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run(words + std::string("--cluster vr200-nvl144")).out,
             Catch::Contains("vr200 is preliminary: ") && Catch::Contains(" takes "));
}

TEST_CASE("a run on a preliminary GPU with a bad range fails", "[run]") {
  const tests::CommandFolder place;
  place.write("next.yaml", "{like: b200, memory_bandwidth: {low: 12 TB/s, high: 4 TB/s}}\n");
  const tests::ProgramResult ran = place.run(words + std::string("--gpu next.yaml"));
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("next.yaml:1:") &&
                          Catch::Contains("memory_bandwidth.high is not above"));
}

TEST_CASE("an unknown GPU of another model number is refused with the way to its file", "[run]") {
  const tests::CommandFolder place;
  for (const char* const gpu : {"h900", "mi999"}) {
    const tests::ProgramResult ran = place.run(words + std::string("--gpu ") + gpu);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Catch::Contains("is not among the gpus of the library") &&
                            Catch::Contains("pipewright gpu derive SHEET --like NAME") &&
                            !Catch::Contains("did you mean"));
  }
  CHECK_THAT(place.run(words + std::string("--gpu h100")).err,
             Catch::Contains("did you mean 'h100-sxm'?"));
}
