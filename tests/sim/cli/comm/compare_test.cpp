#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;

namespace {

// Returns the output of all_reduce_perf on this number of ranks, with times of `factor` times (100
// us + bytes / 100 GB/s).
std::string log_of(int ranks, double factor) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 4(factor) warmup iters: 5\n"
      "# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on node-{} device {:2} [0x07] A100\n", rank,
                        1000 + rank, rank / 8, rank % 8);
  text +=
      "#\n"
      "#                                                              out-of-place               "
      "        in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)       \n";
  for (double bytes = 1024; bytes <= 1 << 30; bytes *= 4) {
    const double us = factor * (100 + bytes / 100e3);
    const double rate = bytes / us / 1e3;
    const std::string side =
        fmt::format("{:8.2f} {:7.2f} {:7.2f}      0", us, rate, rate * 2 * (ranks - 1) / ranks);
    text += fmt::format("{:12.0f}  {:12.0f}     float     sum      -1 {}  {}\n", bytes, bytes / 4,
                        side, side);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 50\n#\n";
}

constexpr const char* compare = "comm compare some.log --cluster dgx-a100 ";

}  // namespace

TEST_CASE("logs are compared, drawn and written as tables", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 1));
  const tests::ProgramResult ran =
      place.run(std::string(compare) + "-o c.svg c.png c.pdf c.html c.csv c.json");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::StartsWith("all-reduce, 16 ranks on 2 nodes\n"));
  CHECK_THAT(ran.out, Catch::Contains("\nall-reduce, 16 ranks on 2 nodes, in place\n"));
  CHECK_THAT(ran.out, Catch::Contains("\n22 rows on dgx-a100: median error "));
  CHECK_THAT(ran.out, Catch::Contains("wrote   c.svg\n"));
  CHECK(place.files() == "c.csv c.html c.json c.pdf c.png c.svg some.log");
  CHECK(place.read("c.json") == place.run(std::string(compare) + "--json").out);
  const nlohmann::json json = nlohmann::json::parse(place.read("c.json"));
  REQUIRE(json["curves"].size() == 2);
  CHECK(json["curves"][0]["rows"].size() == 11);
  CHECK(json["curves"][0]["rows"][0]["measured_s"].get<double>() == Approx(100.01e-6));
  const std::string csv = place.read("c.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 23);
  const std::string svg = place.read("c.svg");
  CHECK(place.run(std::string(compare) + "-o c.svg").status == 0);
  CHECK(place.read("c.svg") == svg);
  CHECK(place.run(std::string(compare) + "--y busbw -o c.svg").status == 0);
  CHECK(place.read("c.svg") != svg);
}

TEST_CASE("rows measured in place and out of place can be selected", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 1));
  CHECK_THAT(place.run(std::string(compare) + "--in-place").out,
             Catch::StartsWith("all-reduce, 16 ranks on 2 nodes, in place\n") &&
                 Catch::Contains("\n11 rows on dgx-a100"));
  CHECK_THAT(place.run(std::string(compare) + "--out-of-place").out, !Catch::Contains("in place"));
  CHECK(place.run(std::string(compare) + "--in-place --out-of-place").status == 2);
}

TEST_CASE("a machine that is slower than its cluster file is reported with a suggestion to fit it",
          "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 10));
  const tests::ProgramResult ran = place.run(compare);
  CHECK_THAT(ran.out, Catch::Contains("\npredicted times are ") &&
                          Catch::Contains(" % too short (median; 22 of 22 rows err this way)\n") &&
                          Catch::Contains("pipewright comm fit some.log --cluster dgx-a100 -o "));
}

TEST_CASE("a median error above --max-error exits with status 1", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 10));
  const tests::ProgramResult above = place.run(std::string(compare) + "--max-error 20%");
  CHECK(above.status == 1);
  CHECK_THAT(above.err, Catch::Contains("the median error is ") &&
                            Catch::Contains(", above --max-error 20.0 %\n"));
  CHECK(place.run(std::string(compare) + "--max-error 100%").status == 0);
  CHECK(place.run(std::string(compare) + "--max-error 20").status == 2);
}

TEST_CASE("an assumed bandwidth is compared with measurements and predictions", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 1));
  const tests::ProgramResult ran =
      place.run(std::string(compare) + "--out-of-place --assume '187 GB/s'");
  CHECK(ran.status == 0);
  // The measured curve approaches an algorithm bandwidth of 100 GB/s and a bus bandwidth of 187.5
  // GB/s, but all times include a constant of 100 us.
  CHECK_THAT(ran.out, Catch::Contains("an assumed bus bandwidth of 187 GB/s is off") &&
                          Catch::Contains("measured   1 KiB to 64 MiB"));
  for (const char* wrong : {"187", "fast/s", "'0 GB/s'", "'187 Gb/s'"}) {
    const tests::ProgramResult rejected = place.run(std::string(compare) + "--assume " + wrong);
    CHECK(rejected.status == 2);
    CHECK_THAT(rejected.err, Catch::Contains("--assume") && Catch::Contains("180 GB/s"));
  }
}

TEST_CASE("a row with more ranks than the cluster has is reported with its line", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(512, 1));
  const tests::ProgramResult ran = place.run(std::string(compare) + "-o c.svg");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("some.log:519: dgx-a100: has no 64 nodes of 8 GPUs; ") &&
                          Catch::Contains("32 GPUs in 4 nodes") &&
                          Catch::Contains("pipewright platform make"));
  CHECK(ran.out.empty());
  CHECK(place.files() == "some.log");
}

TEST_CASE("invalid options are rejected", "[cli][comm]") {
  const tests::CommandFolder place;
  place.write("some.log", log_of(16, 1));
  const auto check_rejected = [&](const std::string& words, const std::string& message) {
    const tests::ProgramResult ran = place.run(words);
    CAPTURE(words, ran.err);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Catch::Contains(message));
    CHECK(ran.out.empty());
  };
  check_rejected("comm compare --cluster dgx-a100", "comm compare needs logs");
  check_rejected("comm compare some.log", "comm compare needs --cluster");
  check_rejected("comm compare none.log --cluster dgx-a100", "none.log");
  check_rejected(std::string(compare) + "--algorithm rings",
                 "--algorithm 'rings': automatic, ring,");
  check_rejected(std::string(compare) + "--y speed", "--y 'speed': must be time or busbw");
  check_rejected(std::string(compare) + "-o c.gif", "unknown kind of output '.gif'");
  check_rejected(std::string(compare) + "-o some.log.csv -o some.log.csv", "twice");
  place.write("some.csv", log_of(16, 1));
  check_rejected("comm compare some.csv --cluster dgx-a100 -o some.csv",
                 "is an input of this command");
  CHECK(place.files() == "some.csv some.log");
}

TEST_CASE("logs of comm bench are predicted without error on the same cluster", "[cli][comm]") {
  const tests::CommandFolder place;
  for (const std::string operation : {"all-reduce", "all-gather", "all-to-all", "send-recv"}) {
    CAPTURE(operation);
    const std::string on = " --cluster dgx-a100 ";
    REQUIRE(place.run("comm bench" + on + "--ranks 16 -o bench.log --op " + operation).status == 0);
    const tests::ProgramResult ran = place.run("comm compare bench.log" + on + "--max-error 0.1%");
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, Catch::StartsWith(operation + ", 16 ranks on 2 nodes\n"));
    CHECK_THAT(ran.out, Catch::Contains("median error 0.0 %, 90th percentile 0.0 %"));
  }
}

TEST_CASE("comm compare has examples in its help", "[cli][comm]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("comm compare --help");
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("pipewright comm compare all_reduce_16.log --cluster"));
  CHECK_THAT(ran.out, Catch::Contains("--max-error 20%   # for CI"));
}

TEST_CASE("comm compare --record writes the cluster file with the errors as its record", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run("comm bench --cluster a100-roce --ranks 16 --sizes 8:1G:8 -o a.log").status ==
          0);
  const tests::ProgramResult ran =
      place.run("comm compare a.log --cluster dgx-a100 --record b.xml");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.out.ends_with("wrote   b.xml\n"));
  const std::string record = "value=\"all-reduce; 16 ranks; 2 nodes; 8 B to ";
  CHECK(place.read("b.xml").find(record) != std::string::npos);
  // Recording the same logs again replaces their record in the platform file; logs from another
  // source add a record.
  REQUIRE(place.run("comm compare a.log --cluster b.xml --record c.xml").status == 0);
  CHECK(place.read("c.xml") == place.read("b.xml"));
  REQUIRE(place
              .run("comm compare a.log --cluster b.xml --record d.xml --record-source 'a table' "
                   "--record-fitted")
              .status == 0);
  CHECK(place.read("d.xml").find("; fitted; a table\"/>") != std::string::npos);
  CHECK(place.read("d.xml").find("; held out; a.log\"/>") != std::string::npos);
  CHECK(place.run("comm compare a.log --cluster dgx-a100 --record-source x").status == 2);
  CHECK(place.run("comm compare a.log --cluster dgx-a100 --record a.log").status == 2);
}

TEST_CASE("a log of other GPUs than those of the cluster is noted", "[cli][comm]") {
  const tests::CommandFolder place;
  const auto log_on = [&](const std::string& gpu) {
    std::string text = log_of(16, 1);
    const std::string name = "[0x07] A100";
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), "[0x07] " + gpu);
    place.write("some.log", text);
  };
  // All of a DGX A100's GPUs are A100s, with 40 or 80 GB; none is an H100.
  for (const char* const gpu :
       {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "Imaginary GPU"}) {
    log_on(gpu);
    CHECK(place.run(compare).err.find("the ranks ran on") == std::string::npos);
  }
  log_on("NVIDIA H100 80GB HBM3");
  const std::string remark =
      "some.log:21: the ranks ran on NVIDIA H100 80GB HBM3, but the GPUs of dgx-a100 are "
      "a100-80gb: "
      "the cluster is not the machine of the log; give --cluster with h100-sxm or h100-sxm-96gb\n";
  CHECK_THAT(place.run(compare).err, Catch::Contains(remark));
  CHECK_THAT(place.run("comm fit some.log --cluster dgx-a100 --parameters 1").err,
             Catch::Contains(remark));
  const nlohmann::json json = nlohmann::json::parse(place.run(std::string(compare) + "--json").out);
  CHECK(json["remarks"].back()["line"] == 21);
  CHECK(place.run("comm compare some.log --cluster dgx-h100").err.find("the ranks ran on") ==
        std::string::npos);
  log_on("NVIDIA H100 PCIe");
  CHECK_THAT(place.run("comm compare some.log --cluster dgx-h100").err,
             Catch::Contains("but the GPUs of dgx-h100 are h100-sxm: "));
}
