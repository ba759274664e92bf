#include "analysis/report/summary_report.hpp"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::console_table;
using analysis::json_summary;
using analysis::Summary;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using Json = nlohmann::json;
using analysis::csv_summary;

namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

// Returns the summary of a run whose name and values are as wide as they can be in each column.
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
    device.parts.p2p = 0.1234;
    device.peak_in_flight = 1.25 + 0.5 * (i % 16);
    device.peak_memory_bytes = (20ULL << 30) + i * (1ULL << 24);
    run.devices.push_back(device);
  }
  return run;
}

}  // namespace

TEST_CASE("the tables of a run describe the run and each device", "[report]") {
  const Summary summary = analysis::summarize(test::two_device_run());
  const std::string expected =
      R"(2 devices x 2 microbatches x 1 iteration, engine timing, network ideal, 500 ms a hop, p2p eager

                                  bubble    span  busy      in        peak  exposed    of
           time  samples  tokens   ratio  bubble  time  flight      memory     comm  time
schedule      s       /s      /s       %       s     s                 GiB        s     %
1f1b      10.00    0.600     600    40.0    4.00  6.00    1..2  2.00..7.00     1.00  10.0

                                                     in    peak        of  exposed
                       start    end  busy  idle  flight  memory  capacity     comm
device  host   passes      s      s     s     %             GiB         %        s
0       left        4      0  10.00  6.00  40.0       2    7.00      87.5     1.00
1       right       4   1.50   7.50  6.00  40.0       1    2.00         -     0.50
)";
  CHECK(console_table({&summary, 1}) == expected);
}

TEST_CASE("assumed numbers are listed below the table, and are fields of JSON and CSV",
          "[report]") {
  std::vector<Summary> runs(2, large_run(2));
  runs[1].run.schedule = "gpipe";
  runs[1].run.evidence = {"l40s", {"flops", "clock"}};
  const std::string text = console_table(runs);
  CHECK_THAT(text, Contains("\ninterleaved-1f1b x4  22.74      184     189    55.9 "));
  CHECK_THAT(text, Contains("\ngpipe x4             22.74      184     189    55.9 "));
  CHECK_THAT(text, Contains("\nvalues of l40s that are assumed, not sourced: flops, clock\n"));
  CHECK(widest_line(text) <= 100);
  const Json json = Json::parse(json_summary(runs));
  CHECK(json[0]["assumed"].empty());
  CHECK(json[1]["assumed"] == Json{"flops", "clock"});
  CHECK(json[1]["assumed_gpu"] == "l40s");
  CHECK_THAT(csv_summary({&runs[1], 1}), Contains(",flops clock\n"));
}

TEST_CASE("runs side by side share the scale of each column", "[report]") {
  std::vector<Summary> runs(2, large_run(8));
  runs[1].run.schedule = "gpipe";
  runs[1].run.chunks = 1;
  runs[1].makespan_s = 0.5;
  const std::string text = console_table(runs);
  CHECK_THAT(text, Contains("\ninterleaved-1f1b x4 22.74 "));
  CHECK_THAT(text, Contains("\ngpipe                0.50 "));
  CHECK_THAT(text, !Contains("host"));  // no table of devices
}

TEST_CASE("tables fit into 100 columns for one device and for a thousand", "[report]") {
  for (const std::uint32_t devices : {1U, 16U, 1000U}) {
    const std::vector<Summary> runs{large_run(devices), large_run(devices)};
    CHECK(widest_line(console_table(runs)) <= 100);
    CHECK(widest_line(console_table({runs.data(), 1})) <= 100);
  }
  const Summary single = large_run(1);
  CHECK_THAT(console_table({&single, 1}), StartsWith("1 device x 0 microbatches"));
  CHECK_THAT(console_table({&single, 1}), !Contains(".."));
}

TEST_CASE("settings that differ between runs are in their names", "[report]") {
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

TEST_CASE("a device over its capacity is marked and named", "[report]") {
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

TEST_CASE("no runs give no table", "[report]") { CHECK(console_table({}).empty()); }

TEST_CASE("the JSON of one run is an object with these keys", "[report]") {
  const Summary summary = analysis::summarize(test::two_device_run());
  const Json json = Json::parse(json_summary({&summary, 1}));
  CHECK(json.at("schedule") == "1f1b");
  CHECK(json.at("num_stages") == 2);
  CHECK(json.at("num_batches") == 2);
  CHECK(json.at("chunks") == 1);
  CHECK(json.at("iterations") == 1);
  CHECK(json.at("engine") == "timing");
  CHECK(json.at("p2p") == "eager");
  CHECK(json.at("network") == "ideal, 500 ms a hop");
  CHECK(json.at("makespan_s") == 10.0);
  CHECK(json.at("bubble_ratio") == summary.bubble_ratio);
  CHECK(json.at("span_bubble_s") == 4.0);
  CHECK(json.at("samples_per_s") == summary.samples_per_s.value());
  CHECK(json.at("tokens_per_s") == summary.tokens_per_s.value());
  CHECK(json.at("exposed_communication_s") == 1.0);
  REQUIRE(json.at("devices").size() == 2);
  const Json& device = json["devices"][1];
  CHECK(device ==
        Json{{"device", 1},
             {"host", "right"},
             {"passes", 4},
             {"busy_s", 6.0},
             {"start_s", 1.5},
             {"end_s", 7.5},
             {"exposed_communication_s", 0.5},
             {"exposed",
              {{"p2p_s", 0.5}, {"in_passes_s", 0.0}, {"gradients_s", 0.0}, {"weights_s", 0.0}}},
             {"optimizer_step_s", 0.0},
             {"at_peak_bytes", {{"weights", 2ULL << 30}}},
             {"peak_time_s", 0.0},
             {"peak_in_flight", 1.0},
             {"peak_memory_bytes", 2ULL << 30},
             {"peak_allocated_bytes", 2ULL << 30},
             {"memory_capacity_bytes", nullptr},
             {"fits", nullptr},
             {"over_since_s", nullptr}});
}

TEST_CASE("JSON says whether a run fits, or null if it is unknown", "[report]") {
  Summary summary = analysis::summarize(test::two_device_run());
  const auto fits = [&] { return Json::parse(json_summary({&summary, 1})).at("fits"); };
  CHECK(fits() == true);
  summary.devices[0].peak_memory_bytes = 9ULL << 30;
  summary.devices[0].over_since_s = 1.5;
  summary.devices[0].memory_host = "elsewhere";
  CHECK(fits() == false);
  const Json device = Json::parse(json_summary({&summary, 1}))["devices"][0];
  CHECK(device.at("fits") == false);
  CHECK(device.at("over_since_s") == 1.5);
  CHECK(device.at("memory_host") == "elsewhere");
  summary.devices[0].memory_capacity_bytes = 0;
  CHECK(fits().is_null());
}

TEST_CASE("fields of the caller are added to a run's figures", "[report]") {
  const std::vector<Summary> runs(2, analysis::summarize(test::two_device_run()));
  const std::vector<analysis::JsonFields> more{{{"gap", 0.5}, {"origin", std::string("a \"b\"")}},
                                               {{"interrupted", true}}};
  const Json json = Json::parse(json_summary(runs, more));
  CHECK(json.at(0).at("gap") == 0.5);
  CHECK(json.at(0).at("origin") == "a \"b\"");
  CHECK(json.at(1).at("interrupted") == true);
  CHECK(!json.at(1).contains("gap"));
  CHECK(json.at(1).at("makespan_s") == 10.0);
}

TEST_CASE("the JSON of several runs is an array in their order", "[report]") {
  std::vector<Summary> runs(2, analysis::summarize(test::two_device_run()));
  runs[1].run.schedule = "gpipe";
  const Json json = Json::parse(json_summary(runs));
  REQUIRE(json.is_array());
  CHECK(json.at(1).at("schedule") == "gpipe");
  CHECK(json_summary({}) == "[]\n");
}

TEST_CASE("unknown figures are null in JSON", "[report]") {
  Summary summary = analysis::summarize(test::two_device_run());
  summary.samples_per_s.reset();
  CHECK(Json::parse(json_summary({&summary, 1})).at("samples_per_s").is_null());
}

TEST_CASE("numbers and names survive a round trip through JSON", "[report]") {
  Summary summary = analysis::summarize(test::two_device_run());
  summary.makespan_s = 0.1 + 0.2;
  summary.run.schedule = "a \"quoted\"\nname, Süd";
  summary.devices[0].host = std::string("\xff");  // no UTF-8
  const std::string text = json_summary({&summary, 1});
  const Json json = Json::parse(text);
  CHECK(json.at("makespan_s").get<double>() == 0.1 + 0.2);
  CHECK(text.find("0.30000000000000004") != std::string::npos);
  CHECK(text.find("\"busy_s\": 6.0") != std::string::npos);
  CHECK(json.at("schedule") == summary.run.schedule);
  CHECK(json["devices"][0]["host"] == "\xEF\xBF\xBD");
}

TEST_CASE("CSV has a row for each device, and units in its header", "[report]") {
  const analysis::Summary summary = analysis::summarize(test::two_device_run());
  CHECK(csv_summary({&summary, 1}) ==
        "schedule,device,host,busy_s,start_s,end_s,exposed_communication_s,"
        "peak_in_flight_microbatches,peak_memory_bytes,peak_allocated_bytes,memory_capacity_bytes,"
        "passes,chunks,"
        "engine,p2p,makespan_s,model,gpu,stack,tp,cp,ep,dp,pp,zero,global_batch_samples,"
        "microbatch_samples,sequence_tokens,recompute,precision,"
        "cuda_graphs,offload,flash_attention,assumed\n"
        "1f1b,0,left,6,0,10,1,2,7516192768,7516192768,8589934592,4,1,timing,eager,10,,,,,,,,,,,,,,,"
        ",,,"
        "\n"
        "1f1b,1,right,6,1.5,7.5,0.5,1,2147483648,2147483648,,4,1,timing,eager,10,,,,,,,,,,,,,,,,,,"
        "\n");
}

TEST_CASE("CSV quotes fields that would break a row", "[report]") {
  analysis::Summary summary;
  summary.run.schedule = "a,b";
  summary.devices.resize(1);
  summary.devices[0].host = "the \"big\"\none";
  const std::string text = csv_summary({&summary, 1});
  CHECK(text.find("\n\"a,b\",0,\"the \"\"big\"\"\none\",0,") != std::string::npos);
}
