#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;

namespace {

// Rank 0 posts the later gradient's receive first: it loses 2 of 9.
const std::string swapped =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0RECV_B0,0B0,0B1\r\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\r\n";

// Rank 0 wants a gradient before it has sent what that needs.
const std::string stuck = "0F0,0B0,0F1,0B1\r\n1F0,1F1,1B0,1B1\r\n";

}  // namespace

TEST_CASE("schedule check says what a file is and what its receives cost", "[cli][torch]") {
  const tests::Workplace place;
  place.write("swapped.csv", swapped);
  const tests::Ran ran = place.run("schedule check swapped.csv");
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "swapped.csv: compute_comms, 2 ranks, 2 stages (1 a rank), 2 microbatches, 8 passes\n"
        "rank 0 holds stage 0\n"
        "rank 1 holds stage 1\n"
        "sound: every stage runs every microbatch once and in order, and no rank waits for ever\n"
        "receives as in the file: 2 lost: makespan 11, and 9 if each pass waited for its own "
        "tensor alone\n"
        "  rank 0, action 7: 0B0 waits 3 behind 0RECV_B1\n");
}

TEST_CASE("schedule check says the same in JSON", "[cli][torch]") {
  const tests::Workplace place;
  place.write("a \"b\".csv", swapped);
  const auto json = nlohmann::json::parse(
      place.run("schedule check 'a \"b\".csv' --json --backward-times 4 --p2p-time 0.5").out);
  CHECK(json["file"] == "a \"b\".csv");
  CHECK(json["form"] == "compute_comms");
  CHECK(json["stages_of_rank"] == nlohmann::json::parse("[[0], [1]]"));
  const auto& order = json["orders"].at(0);
  CHECK(order["lost_s"] ==
        order["makespan_s"].get<double>() - order["best_makespan_s"].get<double>());
  CHECK(order["waits"].at(0)["behind"] == "0RECV_B1");
}

TEST_CASE("a file of passes is judged as PyTorch lowers it, and with late receives",
          "[cli][torch]") {
  const tests::Workplace place;
  CHECK(place
            .shell("'" PIPEWRIGHT_PROGRAM "' schedule show interleaved-1f1b -s 4 -b 8 --format "
                   "csv >il.csv")
            .status == 0);
  const auto json = nlohmann::json::parse(place.run("schedule check il.csv --json").out);
  CHECK(json["form"] == "compute_only");
  CHECK(json["chunks"] == 2);
  REQUIRE(json["orders"].size() == 2);
  CHECK(json["orders"][0]["best_makespan_s"] == json["orders"][1]["best_makespan_s"]);
  CHECK(json["orders"][1]["lost_s"] == 0);
}

TEST_CASE("schedule check ends with 2 and a reason for an unsound file", "[cli][torch]") {
  const tests::Workplace place;
  const auto error = [&](const std::string& text, const std::string& more = "") {
    place.write("bad.csv", text);
    const tests::Ran ran = place.run("schedule check bad.csv " + more);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(error("0F0\r\n1F0,1B0\r\n"), Catch::Contains("bad.csv:1:1: row 1 (rank 0), cell 1"));
  CHECK_THAT(error(stuck), Catch::Contains("device 0 at B of microbatch 0 on stage 0 waits for"));
  CHECK_THAT(error("0F0,0SEND_F0,0RECV_B1,0RECV_B0,0B0,0F1,0SEND_F1,0B1\n"
                   "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"),
             Catch::Contains("0RECV_B0, which stands behind 0RECV_B1"));
  CHECK_THAT(error(std::string("\x7f\x45\x4c\x46\0\0", 6)),
             Catch::Contains("'\\x7fELF\\x00\\x00'"));
  CHECK_THAT(error(swapped, "--forward-times 1 2 3"), Catch::Contains("forward_times has 3"));
  CHECK_THAT(error(swapped, "--queue both"), Catch::Contains("there are rank and pair"));
  CHECK_THAT(error(swapped, "--backward-times 1 --input-grad-times 1"),
             Catch::Contains("not both"));
  CHECK_THAT(place.run("schedule check none.csv").err, Catch::Contains("none.csv: cannot read"));
  CHECK_THAT(place.run("schedule check .").err, Catch::Contains("it is a folder"));
  CHECK_THAT(place.run("schedule check").err, Catch::Contains("one schedule file"));
}

TEST_CASE("schedule show writes both forms, and reads what it wrote", "[cli][torch]") {
  const tests::Workplace place;
  const std::string csv = place.run("schedule show 1f1b -s 2 -b 3 --format csv").out;
  place.write("mine.csv", csv);
  CHECK(place.run("schedule show mine.csv --format csv").out == csv);
  CHECK_THAT(place.run("schedule show mine.csv").out,
             Catch::StartsWith("mine: 2 devices x 3 microbatches;"));
  const std::string comms = place.run("schedule show mine.csv --format comms").out;
  CHECK_THAT(comms, Catch::Contains("1RECV_F0,1F0,1RECV_F1,1B0"));
  CHECK_THAT(place.run("schedule show mine.csv --format comms --late-receives").out,
             Catch::Contains("1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1"));
  place.write("comms.csv", comms);
  CHECK(place.run("schedule show comms.csv --format csv").out == csv);
  place.write("old.csv", "0F0,0F1,0B0,0W0,0BW1\n");
  CHECK(place.run("schedule show old.csv --legacy --format csv").out == "0F0,0F1,0I0,0W0,0B1\r\n");
  CHECK_THAT(
      place.run("schedule show mine.csv -s 4").err,
      Catch::Contains("a schedule of 2 devices, and 4 are asked for; set devices (-s) to 2"));
  CHECK_THAT(place.run("schedule show mine.csv --late-receives").err,
             Catch::Contains("--late-receives goes with --format comms"));
  CHECK_THAT(place.run("schedule show 1f1b --legacy").err, Catch::Contains("--legacy is for"));
}

TEST_CASE("a schedule from a file runs as one of the catalog", "[cli][torch]") {
  const tests::Workplace place;
  std::filesystem::create_directory(place.folder() / "deep");
  place.write("deep/mine.csv", place.run("schedule show 1f1b -s 4 -b 8 --format csv").out);
  place.write("deep/run.yaml",
              "{devices: 4, microbatches: 8, iterations: 2, forward_times: 1, backward_times: 2, "
              "schedule: [mine.csv, 1f1b]}");
  const tests::Ran ran = place.run("run deep/run.yaml --trace t.h5 -o t.csv --json");
  CHECK(ran.err == "");
  const auto runs = nlohmann::json::parse(ran.out);
  CHECK(runs.at(0)["schedule"] == "mine");
  CHECK(runs.at(0)["makespan_s"] == runs.at(1)["makespan_s"]);
  CHECK(place.files() == "deep t-1f1b.h5 t-mine.h5 t.csv");
  CHECK(place.run("run -s 4 -b 8 -f 1 --backward-times 2 --schedule deep/mine.csv").status == 0);

  CHECK_THAT(place.run("run deep/run.yaml --set microbatches=9").err,
             Catch::Contains("deep/run.yaml:1:") &&
                 Catch::Contains("a schedule of 8 microbatches, and 9 are asked for"));
  CHECK_THAT(place.run("run deep/run.yaml -o deep/mine.csv").err,
             Catch::Contains("deep/mine.csv: is read by this run and cannot be written too"));
  CHECK_THAT(place.run("run deep/run.yaml --set schedule=mine.csv").err,
             Catch::Contains("'mine.csv' is no file"));
  CHECK_THAT(
      place.run("run deep/run.yaml --set 'schedule={name: deep/mine.csv, group_size: 4}'").err,
      Catch::Contains("takes no group size"));
}

TEST_CASE("both engines name the half of a pair that waits for ever", "[cli][torch]") {
  const tests::Workplace place;
  place.write("pair.csv", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n");
  for (const std::string engine : {"timing", "simgrid"})
    CHECK_THAT(
        place.run("run -s 2 -b 2 -f 1 --backward-times 2 --schedule pair.csv --engine " + engine)
            .err,
        Catch::Contains("device 0 at B of microbatch 0 on stage 0 waits for the gradient"));
}
