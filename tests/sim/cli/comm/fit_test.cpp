#include <cmath>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using pipewright::tests::CommandFolder;
using pipewright::tests::ProgramResult;
using Json = nlohmann::json;

namespace {

// Returns a log of nccl-tests on 8 GPUs in which this launch latency is part of every time.
std::string log_of(double launch_us) {
  std::string text =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824\n"
      "# Collective test starting: all_reduce_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time "
      "  algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us) "
      " (GB/s)  (GB/s)\n";
  for (int power = 3; power <= 30; ++power) {
    const double bytes = std::ldexp(1, power);
    const double us = launch_us + bytes * 1.75 / 200e3;
    const double algbw = bytes / us / 1e3;
    const std::string part = fmt::format("{:8.2f} {:7.2f} {:7.2f}      0", us, algbw, algbw * 1.75);
    text += fmt::format("{:12.0f} {:12.0f}     float     sum      -1 {} {}\n", bytes, bytes / 4,
                        part, part);
  }
  return text;
}

double held_out_median(const ProgramResult& ran) {
  return Json::parse(ran.out)["errors"]["held_out"]["fit"]["median"];
}

}  // namespace

TEST_CASE("comm fit writes a platform file that predicts the measurements", "[cli]") {
  const CommandFolder place;
  place.write("a.log", log_of(90));
  const ProgramResult fit =
      place.run("comm fit a.log --cluster dgx-a100 --hold-out odd -o fitted.xml --json");
  INFO(fit.err);
  REQUIRE(fit.status == 0);
  const Json report = Json::parse(fit.out);
  CHECK(report["errors"]["held_out"]["file"]["median"] > 0.2);
  CHECK(held_out_median(fit) < 0.1);
  CHECK(report["parameters"].size() <= 5);
  const std::string fitted = place.read("fitted.xml");
  CHECK(fitted.find("<prop id=\"fitted-from\" value=\"a.log\"/>") != std::string::npos);
  CHECK(fitted.find("Fitted by pipewright ") != std::string::npos);
  CHECK(fitted.find("<prop id=\"record.1\" value=\"all-reduce; 8 ranks; 1 node; ") !=
        std::string::npos);
  CHECK(fitted.find("; held out; a.log\"/>") != std::string::npos);
  CHECK(fitted.find("; fitted; a.log\"/>") != std::string::npos);

  // With the fitted file, the errors are those that the fit reported, and another fit to the same
  // log changes nothing.
  const ProgramResult refit =
      place.run("comm fit a.log --cluster fitted.xml --hold-out odd -o twice.xml --json");
  INFO(refit.err);
  REQUIRE(refit.status == 0);
  const Json second = Json::parse(refit.out);
  CHECK(second["errors"]["held_out"]["file"]["median"].get<double>() ==
        Approx(held_out_median(fit)).epsilon(1e-6));
  CHECK(second["parameters"].empty());
  CHECK(place.files() == "a.log fitted.xml twice.xml");
}

TEST_CASE("comm fit prints a report", "[cli]") {
  const CommandFolder place;
  place.write("a.log", log_of(90));
  const ProgramResult ran = place.run("comm fit a.log --cluster dgx-a100 --fit collective.launch");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.out.find("fitted to 56 rows of 1 log") != std::string::npos);
  CHECK(ran.out.find("collective.launch ") != std::string::npos);
  CHECK(ran.out.find("held-out rows, predicted by a fit to the other rows:") != std::string::npos);
  CHECK(ran.out == place.run("comm fit a.log --cluster dgx-a100 --fit collective.launch").out);
  CHECK(place.files() == "a.log");
}

TEST_CASE("comm fit rejects invalid requests without writing a file", "[cli]") {
  const CommandFolder place;
  place.write("a.log", log_of(90));
  place.write("mine.xml", "<platform version=\"4.1\"/>");
  const auto check_rejected = [&](const std::string& words, const std::string& reason) {
    const ProgramResult ran = place.run("comm fit " + words);
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.err.find(reason) != std::string::npos);
  };
  check_rejected("--cluster dgx-a100", "comm fit needs logs");
  check_rejected("a.log", "comm fit needs --cluster");
  check_rejected("a.log --cluster mine.xml -o mine.xml",
                 "is an input of this command, so it cannot be an output");
  check_rejected("a.log --cluster dgx-a100 -o fitted.json", "must end in .xml");
  check_rejected("a.log --cluster dgx-a100 --hold-out some", "must be odd, even or none");
  check_rejected("a.log --cluster dgx-a100 --parameters 0", "from 1 to 8");
  check_rejected("a.log --cluster dgx-a100 --fit nvlink.speed",
                 "is unknown; choose from nvlink.latency");
  check_rejected("a.log --cluster dgx-a100 --ranks 1 -o f.xml", "--ranks '1'");
  CHECK(place.files() == "a.log mine.xml");
  place.write("b.log", log_of(45));
  check_rejected("a.log b.log --cluster dgx-a100", "or add --together");
  CHECK(place.run("comm fit a.log b.log --cluster dgx-a100 --together").status == 0);
}
