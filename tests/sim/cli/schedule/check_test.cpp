#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

// A valid but slow order: rank 1 posts the receive of the first gradient before that of the second
// activations, which arrive earlier. F1 therefore waits for 3 cells, and the makespan is 13 instead
// of 12.
const std::string behind =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\r\n"
    "1RECV_F0,1F0,1SEND_F0,1RECV_B0,1RECV_F1,1F1,1SEND_F1,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_B1\r\n"
    "2RECV_F0,2F0,2B0,2SEND_B0,2RECV_F1,2F1,2B1,2SEND_B1\r\n";

// An invalid order: rank 1 receives the microbatches in the reverse of the order in which rank 0
// sends them.
const std::string swapped =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F1,1F1,1B1,1SEND_B1,1RECV_F0,1F0,1B0,1SEND_B0\n";

// A deadlock: rank 1 receives a gradient before it receives, computes and sends the activations on
// which the gradient depends, and receives complete in order.
const std::string blocked =
    "0F0,0SEND_F0,0RECV_B0,0B0\n"
    "1RECV_B0,1RECV_F0,1F0,1SEND_F0,1B0,1SEND_B0\n"
    "2RECV_F0,2F0,2B0,2SEND_B0\n";

// A deadlock: rank 0 waits for a gradient while rank 1 waits for rank 0's second activations.
const std::string stuck = "0F0,0B0,0F1,0B1\r\n1F0,1F1,1B0,1B1\r\n";

}  // namespace

TEST_CASE("schedule check describes a file and the cost of its receives", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("behind.csv", behind);
  const tests::ProgramResult ran = place.run("schedule check behind.csv");
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "behind.csv: compute_comms, 3 ranks, 3 stages (1 a rank), 2 microbatches, 12 passes\n"
        "rank 0 holds stage 0\n"
        "rank 1 holds stage 1\n"
        "rank 2 holds stage 2\n"
        "sound: every stage runs every microbatch once and in order, and no rank waits forever\n"
        "order: 1f1b\n"
        "times are in cells: F = I = W = 1 cell of a stage, B = 2 cells\n"
        "receives as in the file: 1 cell lost: makespan 13 cells; 12 cells if each pass "
        "waited only for its own tensor\n"
        "  rank 1, action 6: 1F1 waits 3 cells behind 1RECV_B0\n");
  place.write("one.csv", "0F0,0B0\n");
  CHECK_THAT(place.run("schedule check one.csv").out,
             Catch::StartsWith("one.csv: compute_only, 1 rank, 1 stage (1 a rank), 1 microbatch, "
                               "2 passes\n"));
}

TEST_CASE("schedule check reports in seconds when times of passes are set", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("behind.csv", behind);
  const std::string times = " -f '10 ms' --backward-times '20 ms'";
  const std::string text = place.run("schedule check behind.csv" + times).out;
  CHECK_THAT(text, Catch::Contains("10.00 ms lost: makespan 130.0 ms; 120.0 ms if each pass") &&
                       Catch::Contains("1F1 waits 30.00 ms behind 1RECV_B0") &&
                       !Catch::Contains("cell"));
  const auto json =
      nlohmann::json::parse(place.run("schedule check behind.csv --json" + times).out);
  CHECK(json["time_unit"] == "s");
  CHECK(json["orders"].at(0)["makespan"].get<double>() == Approx(0.13));
  CHECK_THAT(place.run("schedule check behind.csv --p2p-time '5 us'").err,
             Catch::Contains("--p2p-time is 5 us") && Catch::Contains("counts cells"));
  CHECK_THAT(place.run("schedule check behind.csv --p2p-time 0.5").out,
             Catch::Contains("makespan 16 cells; 14 cells if"));
}

TEST_CASE("schedule check reports the same figures in JSON", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("a \"b\".csv", behind);
  const auto json = nlohmann::json::parse(place.run("schedule check 'a \"b\".csv' --json").out);
  CHECK(json["file"] == "a \"b\".csv");
  CHECK(json["form"] == "compute_comms");
  CHECK(json["sound"] == true);
  CHECK(json["time_unit"] == "cell");
  CHECK(json["stages_of_rank"] == nlohmann::json::parse("[[0], [1], [2]]"));
  const auto& order = json["orders"].at(0);
  CHECK(order["makespan"] == 13);
  CHECK(order["best_makespan"] == 12);
  CHECK(order["lost"] == 1);
  CHECK(order["swap"].is_null());
  CHECK(order["waits"].at(0)["behind"] == "1RECV_B0");
  CHECK(order["waits"].at(0)["wait"] == 3);
  // Bytes of a name that are not UTF-8 are replaced, so that the output remains JSON.
  place.write("\xff.csv", behind);
  CHECK(nlohmann::json::parse(place.run("schedule check '\xff.csv' --json").out)["file"] ==
        "\xef\xbf\xbd.csv");
}

TEST_CASE("schedule check reports an unsound file in JSON", "[cli][torch]") {
  const tests::CommandFolder place;
  for (const std::string& text : {swapped, stuck, blocked, std::string("0F0,1\"B\"\n")}) {
    CAPTURE(text);
    place.write("bad.csv", text);
    const tests::ProgramResult ran = place.run("schedule check bad.csv --json");
    CHECK(ran.status == 2);
    CHECK(ran.err.empty());
    const auto json = nlohmann::json::parse(ran.out);
    CHECK(json["file"] == "bad.csv");
    CHECK(json["sound"] == false);
    CHECK("pipewright: " + json["why"].get<std::string>() + "\n" ==
          place.run("schedule check bad.csv").err);
  }
  // A file that cannot be read is reported as text.
  const tests::ProgramResult none = place.run("schedule check none.csv --json");
  CHECK(none.status == 2);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, Catch::Contains("none.csv: cannot read"));
}

TEST_CASE("a file of passes is checked as PyTorch lowers it, and with late receives",
          "[cli][torch]") {
  const tests::CommandFolder place;
  CHECK(place
            .shell("'" PIPEWRIGHT_PROGRAM "' schedule show interleaved-1f1b -s 4 -b 8 --format "
                   "csv >il.csv")
            .status == 0);
  const auto json = nlohmann::json::parse(place.run("schedule check il.csv --json").out);
  CHECK(json["form"] == "compute_only");
  CHECK(json["chunks"] == 2);
  REQUIRE(json["orders"].size() == 3);
  CHECK(json["orders"][0]["best_makespan"] == json["orders"][1]["best_makespan"]);
  CHECK(json["orders"][1]["lost"] == 0);
}

TEST_CASE("schedule check warns of late receives that NCCL would swap", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("v.csv", place.run("schedule show zb-v -s 2 -b 4 --format csv").out);
  const tests::ProgramResult ran = place.run("schedule check v.csv");
  CHECK(ran.status == 0);
  const std::size_t late = ran.out.find("receives posted before the pass: ");
  REQUIRE(late != std::string::npos);
  CHECK_THAT(ran.out.substr(0, late), !Catch::Contains("warning"));
  CHECK_THAT(ran.out.substr(late),
             Catch::Contains("; warning: NCCL would swap tensors: receive ") &&
                 Catch::Contains(" of rank 1 from rank 0 is "));
  const auto orders = nlohmann::json::parse(place.run("schedule check v.csv --json").out)["orders"];
  CHECK(orders[0]["swap"].is_null());
  CHECK(orders[1]["swap"]["receiver"] == 1);
  CHECK(orders[1]["swap"]["sender"] == 0);
}

TEST_CASE("schedule check exits with 2 and a reason for an unsound file", "[cli][torch]") {
  const tests::CommandFolder place;
  const auto error = [&](const std::string& text, const std::string& more = "") {
    place.write("bad.csv", text);
    const tests::ProgramResult ran = place.run("schedule check bad.csv " + more);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(error("0F0\r\n1F0,1B0\r\n"), Catch::Contains("bad.csv:1:1: row 1 (rank 0), cell 1"));
  CHECK_THAT(error(stuck),
             Catch::StartsWith("pipewright: bad.csv: deadlock: 2 of 2 ranks wait forever\n"
                               "  rank 0 at action 2, 0B0, waits for 0RECV_B0; rank 1 does not "
                               "reach 1SEND_B0\n"));
  CHECK_THAT(
      error(blocked),
      Catch::Contains("bad.csv: deadlock") &&
          Catch::Contains("rank 1 at action 3, 1F0, waits for 1RECV_F0, which is queued behind "
                          "1RECV_B0; rank 2 does not reach 2SEND_B0"));
  CHECK(error(swapped) ==
        "pipewright: bad.csv:1:5: row 1 (rank 0), cell 5: 0RECV_B0 is receive 1 from rank 1, and "
        "send 1 of rank 1 to this rank is 1SEND_B1 (2:4: row 2 (rank 1), cell 4); NCCL matches "
        "them by order alone, so tensors would be swapped; right would be 0RECV_B1 here, or "
        "1SEND_B0 there\n");
  CHECK_THAT(error(std::string("\x7f\x45\x4c\x46\0\0", 6)),
             Catch::Contains("'\\x7fELF\\x00\\x00'"));
  CHECK_THAT(error(behind, "--forward-times 1 2"), Catch::Contains("forward_times has 2"));
  CHECK_THAT(error(behind, "--queue both"), Catch::Contains("allowed: rank, pair"));
  CHECK_THAT(error(behind, "--backward-times 1 --input-grad-times 1"),
             Catch::Contains("give one or the other"));
  CHECK_THAT(error(behind, "-f -1"), Catch::StartsWith("pipewright: --forward-times is -1"));
  CHECK_THAT(error(behind, "-f 1 x"), Catch::StartsWith("pipewright: --forward-times[1] is "));
  CHECK_THAT(place.run("schedule check none.csv").err, Catch::Contains("none.csv: cannot read"));
  CHECK_THAT(place.run("schedule check .").err, Catch::Contains("it is a folder"));
  CHECK_THAT(place.run("schedule check").err, Catch::Contains("one schedule file"));
}

TEST_CASE("schedule show writes both forms, and reads its own files", "[cli][torch]") {
  const tests::CommandFolder place;
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
      Catch::Contains("a schedule of 2 devices, but 4 are requested; set devices (-s) to 2"));
  CHECK_THAT(place.run("schedule show mine.csv --late-receives").err,
             Catch::Contains("--late-receives needs --format comms"));
  CHECK_THAT(place.run("schedule show 1f1b --legacy").err, Catch::Contains("--legacy is for"));
}

TEST_CASE("a schedule from a file runs like a schedule of the catalog", "[cli][torch]") {
  const tests::CommandFolder place;
  std::filesystem::create_directory(place.folder() / "deep");
  place.write("deep/mine.csv", place.run("schedule show 1f1b -s 4 -b 8 --format csv").out);
  place.write("deep/run.yaml",
              "{devices: 4, microbatches: 8, iterations: 2, forward_times: 1, backward_times: 2, "
              "schedule: [mine.csv, 1f1b]}");
  const tests::ProgramResult ran =
      place.run("run deep/run.yaml --engine timing --trace t.h5 -o t.csv --json");
  CHECK(ran.err == "");
  const auto runs = nlohmann::json::parse(ran.out);
  CHECK(runs.at(0)["schedule"] == "mine");
  CHECK(runs.at(0)["makespan_s"] == runs.at(1)["makespan_s"]);
  CHECK(place.files() == "deep t-1f1b.h5 t-mine.h5 t.csv");
  CHECK(place.run("run -s 4 -b 8 -f 1 --backward-times 2 --schedule deep/mine.csv").status == 0);

  CHECK_THAT(place.run("run deep/run.yaml --set microbatches=9").err,
             Catch::Contains("deep/run.yaml:1:") &&
                 Catch::Contains("a schedule of 8 microbatches, but 9 are requested"));
  CHECK_THAT(
      place.run("run deep/run.yaml -o deep/mine.csv").err,
      Catch::Contains("deep/mine.csv: is an input of this command, so it cannot be an output"));
  CHECK_THAT(place.run("run deep/run.yaml --set schedule=mine.csv").err,
             Catch::Contains("'mine.csv' is no file"));
  CHECK_THAT(
      place.run("run deep/run.yaml --set 'schedule={name: deep/mine.csv, group_size: 4}'").err,
      Catch::Contains("takes no group size"));
}

TEST_CASE("the error of a file that deadlocks has the file's path", "[cli][torch]") {
  const tests::CommandFolder place;
  std::filesystem::create_directory(place.folder() / "deep");
  place.write("deep/stuck.csv", stuck);
  const std::string named = "pipewright: deep/stuck.csv: deadlock: 2 of 2 ";
  for (const std::string words : {"schedule check deep/stuck.csv", "schedule show deep/stuck.csv",
                                  "schedule show deep/stuck.csv --format comms",
                                  "run -s 2 -b 2 -f 1 --backward-times 2 --quiet --engine timing "
                                  "--schedule deep/stuck.csv"}) {
    CAPTURE(words);
    CHECK_THAT(place.run(words).err, Catch::StartsWith(named));
  }
}

TEST_CASE("a note says once that SEND and RECV of a file are not simulated", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("a.csv", swapped);
  place.write("passes.csv", "0F0,0B0\n");
  const std::string note =
      "the placement of SEND and RECV is not simulated; 'pipewright schedule check' checks it\n";
  const std::string show = "schedule show a.csv --format csv";
  CHECK(place.run(show).err == "pipewright: a.csv: " + note);
  CHECK(place.run(show).out == "0F0,0F1,0B0,0B1\r\n1F1,1B1,1F0,1B0\r\n");
  CHECK(place.run("schedule show passes.csv").err.empty());
  const std::string run =
      "run -s 2 -b 2 -f 1 --backward-times 2 --engine timing --schedule a.csv 1f1b a.csv";
  CHECK_THAT(place.run(run).out, Catch::EndsWith("\nnote: a.csv: " + note));
  CHECK(place.run(run).err.empty());
  CHECK(place.run(run + " --json").err.empty());
  CHECK_THAT(place.run(run + " --quiet").out, !Catch::Contains("simulated"));
}

TEST_CASE("both engines name the half of a pair that waits forever", "[cli][torch]") {
  const tests::CommandFolder place;
  place.write("pair.csv", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n");
  for (const std::string engine : {"timing", "simgrid"})
    CHECK_THAT(
        place.run("run -s 2 -b 2 -f 1 --backward-times 2 --schedule pair.csv --engine " + engine)
            .err,
        Catch::Contains("pipewright: pair.csv: deadlock: ") &&
            Catch::Contains("device 0 at B of microbatch 0 on stage 0 waits for the gradient"));
}

TEST_CASE("schedule show warns of an export that schedule check finds unsound", "[cli]") {
  // In ZB-V, which has a V shape, neighbouring ranks exchange activations and gradients in both
  // directions. With looped stages on four ranks they do not.
  const tests::CommandFolder place;
  const std::string v = "schedule show zb-v -s 4 -b 8 --format comms ";
  CHECK(place.run(v).err.empty());
  for (const std::string option : {"--late-receives", "--defer-receives"}) {
    const tests::ProgramResult ran = place.run(v + option);
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    CHECK_THAT(ran.err, Catch::Contains("warning: zb-v: NCCL would swap tensors"));
    const std::string looped = "schedule show interleaved-1f1b -s 4 -b 8 --format comms ";
    CHECK(place.run(looped + option).err.empty());
  }
  CHECK(place.run(v + "--late-receives --defer-receives").status == 2);
}

TEST_CASE("a file whose only communication is REDUCE_GRAD counts as a file of passes", "[cli]") {
  const tests::CommandFolder place;
  place.write("mine.csv", "0F0,,,0B0,0REDUCE_GRAD\r\n,1F0,1B0,1REDUCE_GRAD,\r\n");
  const tests::ProgramResult ran = place.run("schedule check mine.csv");
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("mine.csv: compute_only") &&
                          Catch::Contains("receives deferred as by defer_pp_recv"));
}

TEST_CASE("a run takes devices and microbatches from its schedule file", "[cli]") {
  const tests::CommandFolder place;
  place.write("mine.csv", "0F0,0F1,,0B0,,0B1\r\n,1F0,1B0,1F1,1B1,\r\n");
  const std::string times = " -f '1 ms' --backward-times '2 ms' --engine timing";
  const tests::ProgramResult ran = place.run("run --schedule mine.csv" + times);
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("2 devices, 2 microbatches "));
  CHECK(place.run("run -s 3 --schedule mine.csv" + times).status == 2);

  // A path in a scenario is relative to the scenario's folder.
  place.write("s.yaml", "schedule: mine.csv\nforward_times: 1\nbackward_times: 2\n");
  CHECK_THAT(place.run("run s.yaml").out, Catch::StartsWith("2 devices, 2 microbatches "));

  place.write("old.csv", "0F0,0BW0\r\n1F0,1BW0\r\n");
  const tests::ProgramResult legacy = place.run("run --schedule old.csv --legacy" + times);
  CAPTURE(legacy.out, legacy.err);
  CHECK(legacy.status == 0);
  CHECK_THAT(legacy.out, Catch::StartsWith("2 devices, 1 microbatch "));
  CHECK(place.run("run --schedule old.csv" + times).status == 2);
  CHECK_THAT(place.run("run -s 2 -b 2 --schedule 1f1b --legacy" + times).err,
             Catch::Contains("--legacy is for a .csv file"));
}

TEST_CASE("the schedule of a file is recognised, also with one more forward ahead", "[cli]") {
  const tests::CommandFolder place;
  const auto order = [&](const std::string& words) {
    REQUIRE(
        place.shell("'" PIPEWRIGHT_PROGRAM "' schedule show " + words + " --format csv > mine.csv")
            .status == 0);
    return place.run("schedule check mine.csv").out;
  };
  CHECK_THAT(order("1f1b -s 4 -b 8"), Catch::Contains("order: 1f1b\n"));
  CHECK_THAT(order("interleaved-1f1b -s 4 -b 8 --chunks 2"),
             Catch::Contains("order: interleaved-1f1b\n"));
  const std::string pairs = order("interleaved-1f1b -s 4 -b 8 --chunks 2 --fused");
  CHECK_THAT(pairs, Catch::Contains("order: interleaved-1f1b with one more forward ahead") &&
                        Catch::Contains("overlap_moe_expert_parallel_comm") &&
                        Catch::Contains("one after the other"));
}
