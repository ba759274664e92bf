#include "analysis/console_report.hpp"

#include <sstream>

#include <catch2/catch.hpp>

#include "tests/analysis/runs.hpp"

using namespace pipewright;
using analysis::console_table;
using analysis::Summary;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

// A large run of a long name in which every column is as wide as it gets.
Summary large_run(std::uint32_t devices) {
  Summary run;
  run.run.schedule = "interleaved-1f1b";
  run.run.chunks = 4;
  run.run.devices = devices;
  run.makespan_s = 22.7445;
  run.bubble_ratio = 0.5594;
  run.span_bubble_s = 11.2345;
  run.samples_per_s = 184.5;
  run.tokens_per_s = 188'900;
  for (std::uint32_t i = 0; i < devices; ++i) {
    analysis::DeviceSummary device;
    device.device = i;
    device.busy_s = 10.015 + i * 0.001;
    device.exposed.p2p_s = 0.1234;
    device.peak_in_flight = 1.25 + 0.5 * (i % 16);
    device.peak_memory_bytes = (20ULL << 30) + i * (1ULL << 24);
    run.devices.push_back(device);
  }
  return run;
}

}  // namespace

TEST_CASE("a run's table says what it was, and how each device fared", "[report]") {
  const Summary summary = analysis::summarize(test::two_device_run());
  const std::string expected =
      R"(2 devices x 2 microbatches x 1 iteration, engine timing, network ideal, 500 ms a hop, p2p eager

                                  bubble    span            in      memory  exposed    of
           time  samples  tokens   ratio  bubble  busy  flight        peak     comm  time
schedule      s       /s      /s       %       s     s                 GiB        s     %
1f1b      10.00    0.600     600    40.0    4.00  6.00    1..2  2.00..7.00     1.00  10.0

                                                     in  memory        of  exposed
                       start    end  busy  idle  flight    peak  capacity     comm
device  host   passes      s      s     s     %             GiB         %        s
0       left        4      0  10.00  6.00  40.0       2    7.00      87.5     1.00
1       right       4   1.50   7.50  6.00  40.0       1    2.00         -     0.50
)";
  CHECK(console_table({&summary, 1}) == expected);
}

TEST_CASE("runs side by side share one scale a column", "[report]") {
  std::vector<Summary> runs(2, large_run(8));
  runs[1].run.schedule = "gpipe";
  runs[1].run.chunks = 1;
  runs[1].makespan_s = 0.5;
  const std::string text = console_table(runs);
  CHECK_THAT(text, Contains("\ninterleaved-1f1b x4 22.74 "));
  CHECK_THAT(text, Contains("\ngpipe                0.50 "));
  CHECK_THAT(text, !Contains("host"));  // no table of devices
}

TEST_CASE("a table fits into 100 columns, for one device or a thousand", "[report]") {
  for (const std::uint32_t devices : {1U, 16U, 1000U}) {
    const std::vector<Summary> runs{large_run(devices), large_run(devices)};
    CHECK(widest_line(console_table(runs)) <= 100);
    CHECK(widest_line(console_table({runs.data(), 1})) <= 100);
  }
  const Summary one = large_run(1);
  CHECK_THAT(console_table({&one, 1}), StartsWith("1 device x 0 microbatches"));
  CHECK_THAT(console_table({&one, 1}), !Contains(".."));
}

TEST_CASE("what differs between runs stands with each", "[report]") {
  std::vector<Summary> runs(2, analysis::summarize(test::two_device_run()));
  runs[1].run.p2p = "blocking";
  const std::string text = console_table(runs);
  CHECK_THAT(text, StartsWith("2 devices x 2 microbatches x 1 iteration, engine timing, "
                              "network ideal, 500 ms a hop\n"));
  CHECK_THAT(text, Contains("\n1f1b, p2p eager ") && Contains("\n1f1b, p2p blocking "));
}

TEST_CASE("unknown memory and throughput are not zeros", "[report]") {
  trace::Trace trace = test::two_device_run();
  trace.memory.clear();
  trace.run.samples_per_microbatch = 0;
  trace.run.tokens_per_microbatch = 0;
  const Summary summary = analysis::summarize(trace);
  const std::string text = console_table({&summary, 1});
  CHECK_THAT(text, !Contains("samples") && !Contains("tokens"));
  CHECK_THAT(text, Contains(" - "));
}

TEST_CASE("a device that holds more than it can is marked and named", "[report]") {
  std::vector<Summary> runs(2, analysis::summarize(test::two_device_run()));
  runs[1].run.schedule = "gpipe";
  runs[1].devices[0].peak_memory_bytes = 9ULL << 30;
  const std::string text = console_table(runs);
  CHECK_THAT(text,
             Contains("\n! gpipe does not fit: device 0 (left) peaks at 9.0 GiB at 1.00 s, 1.0 GiB "
                      "over its 8.0 GiB"));
  CHECK_THAT(text, Contains("2.00..9.00! ") && Contains("2.00..7.00  "));
  CHECK_THAT(text, !Contains("! 1f1b"));

  runs[1].devices[1].memory_capacity_bytes = 1;
  CHECK_THAT(console_table(runs), Contains("; 2 of 2 devices are over\n"));
}

TEST_CASE("no runs make no table", "[report]") { CHECK(console_table({}).empty()); }
