#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("schedule list names every schedule of the catalog", "[cli]") {
  const tests::ProgramResult ran = tests::CommandFolder().run("schedule list");
  CHECK(ran.status == 0);
  for (const auto& entry : schedules::catalog())
    CHECK_THAT(ran.out, Catch::Contains(std::string(entry.name) + " "));
}

TEST_CASE("schedule list with sizes compares the schedules", "[cli]") {
  const tests::CommandFolder place;
  const std::string text = place.run("schedule list -s 4 -b 16").out;
  for (const char* row : {"\nzb-h1 ", "\nv-half ", "  5.9  ", " 2.5..4.0 "})
    CHECK_THAT(text, Catch::Contains(row));
  const std::string markdown = place.run("schedule list -s 3 -b 16 --markdown").out;
  CHECK_THAT(markdown, Catch::Contains("| 1f1b | 11.1 | 6.00 | 1..3 |") &&
                           Catch::Contains("| dualpipe | - | - | - |") &&
                           Catch::Contains("- dualpipe: devices and microbatches must be even"));
  CHECK_THAT(place.run("schedule list -s 4 -b 16 -f 2").out, !Catch::Contains("F = I = W"));
  CHECK(place.run("schedule list -s 4").status == 2);
}

TEST_CASE("schedule show draws a schedule or writes it for PyTorch", "[cli]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("schedule show 1f1b -s 3 -b 3").out,
             Catch::Contains("device 2 | .  .  F0 B0    F1 B1    F2 B2"));
  CHECK(place.run("schedule show gpipe -s 2 -b 2 --format csv").out ==
        "0F0,0F1,0B0,0B1\r\n1F0,1F1,1B0,1B1\r\n");
  CHECK_THAT(place.run("schedule show interleaved-1f1b -s 2 -b 4 --chunks 3").out,
             Catch::Contains("3 chunks per device"));
}

TEST_CASE("schedule show rounds microbatches in flight to hundredths", "[cli]") {
  // The 7 stages of HelixPipe with a layer on each of 3 devices count 3/7 of a device each. Of 3
  // microbatches, device 0 runs 3 stages and the others 2.
  CHECK_THAT(
      tests::CommandFolder().run("schedule show helixpipe -s 3 -b 3 --layers-per-device 1").out,
      Catch::Contains("in flight at the peak: 3.86, 2.57, 2.57 microbatches"));
}

TEST_CASE("HelixPipe runs with given times, and not with a model", "[cli]") {
  const tests::CommandFolder place;
  const std::string sizes = " -s 4 -b 8 --schedule helixpipe --fold 2";
  for (const std::string engine : {"timing", "simgrid"}) {
    const tests::ProgramResult ran =
        place.run("run -f 1 --backward-times 2 --engine " + engine + sizes);
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
  }
  const tests::ProgramResult refused = place.run("run --model llama-3-8b --gpu h100-sxm" + sizes);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("helixpipe divides layers") &&
                              Catch::Contains("allowed: a scenario without model"));
}

TEST_CASE("schedule refuses unknown names, formats and sizes", "[cli]") {
  const tests::CommandFolder place;
  const auto error = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run(words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(error("schedule show 9f9b"), Catch::Contains("no schedule is called '9f9b'"));
  CHECK_THAT(error("schedule show"), Catch::Contains("takes the name or file of a schedule"));
  CHECK_THAT(error("schedule draw"), Catch::Contains("not 'draw'"));
  CHECK_THAT(error("schedule show 1f1b --format pdf"),
             Catch::Contains("allowed: text, csv, comms"));
  CHECK_THAT(error("schedule show 1f1b -s x"), Catch::Contains("--num-stages"));
  CHECK_THAT(error("schedule show 1f1b -s -3"), Catch::Contains("-3"));
  CHECK_THAT(error("schedule show 1f1b-2bw --format csv"), Catch::Contains("weight version"));
}

TEST_CASE("schedule explain shows the steps of a building block", "[cli]") {
  const tests::CommandFolder place;
  place.write("mine.yaml", "placement: v\ninterval: 6\ncells: {F0: {}, F1: {}, I1: {}, I0: {}}\n");
  for (const std::string words : {"v-half", "mine.yaml"}) {
    const tests::ProgramResult ran = place.run("schedule explain -s 3 -b 6 " + words);
    CHECK(ran.status == 0);
    for (const char* step : {"1. the block", "2. repeated", "3. squeezed", "4. reordered"})
      CHECK_THAT(ran.out, Catch::Contains(step));
  }
  CHECK_THAT(place.run("schedule show mine.yaml -s 3 -b 6").out,
             Catch::StartsWith("mine.yaml: 3 devices x 6 microbatches, 2 chunks per device"));
  place.write("still.yaml",
              "placement: looped\ninterval: 3\ncells: {F0: {}, B0: {}}\n"
              "reorder: false\n");
  const tests::ProgramResult still = place.run("schedule explain still.yaml");
  CHECK_THAT(still.out, Catch::Contains("3. squeezed") && !Catch::Contains("4. reordered"));
}

TEST_CASE("counts of one are in the singular", "[cli]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("schedule show 1f1b -s 1 -b 1").out,
             Catch::Contains("1 device x 1 microbatch;") &&
                 Catch::Contains("at the peak: 1 microbatch\n"));
  CHECK_THAT(place.run("schedule explain v-half -s 1 -b 1").out,
             Catch::Contains("1 device x 1 microbatch,") &&
                 Catch::Contains("in flight at the peak: 1 microbatch\n") &&
                 Catch::Contains("at most 1 microbatch\n"));
  CHECK_THAT(
      place.run("schedule search -s 1 -b 1 -f 1 --input-grad-times 1 --weight-grad-times 1").out,
      Catch::Contains("holds    1 microbatch in flight\n"));
}

TEST_CASE("schedule explain refuses schedules without a building block", "[cli]") {
  const tests::CommandFolder place;
  const auto error = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("schedule explain " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(error("gpipe"),
             Catch::Contains("but gpipe follows a rule") && Catch::Contains("v-half"));
  CHECK_THAT(error("9f9b"), Catch::Contains("no schedule is called '9f9b'"));
  CHECK_THAT(error(""), Catch::Contains("takes the name of a schedule"));
  CHECK_THAT(error("v-half -s 0"), Catch::Contains("--num-stages"));
  CHECK_THAT(error("none.yaml"), Catch::Contains("none.yaml: cannot be read"));
  CHECK_THAT(error("some.csv"), Catch::Contains("needs a building block"));
  place.write("bad.yaml", "placement: v\ninterval: 6\ncells: {F0: {}, F1: {}, I1: {}}\n");
  CHECK_THAT(error("bad.yaml"),
             Catch::Contains("bad.yaml:3:8: cells: there is neither B nor I of chunk 0"));
}
