#include "analysis/json_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/analysis/runs.hpp"

using namespace pipewright;
using analysis::json_summary;
using analysis::Summary;
using Json = nlohmann::json;

TEST_CASE("one run is an object with these keys", "[report]") {
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
             {"memory_capacity_bytes", nullptr},
             {"fits", nullptr},
             {"over_since_s", nullptr}});
}

TEST_CASE("a run fits, does not, or that is not known", "[report]") {
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

TEST_CASE("what a caller adds stands beside a run's own figures", "[report]") {
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

TEST_CASE("several runs are an array, in their order", "[report]") {
  std::vector<Summary> runs(2, analysis::summarize(test::two_device_run()));
  runs[1].run.schedule = "gpipe";
  const Json json = Json::parse(json_summary(runs));
  REQUIRE(json.is_array());
  CHECK(json.at(1).at("schedule") == "gpipe");
  CHECK(json_summary({}) == "[]\n");
}

TEST_CASE("what is unknown is null", "[report]") {
  Summary summary = analysis::summarize(test::two_device_run());
  summary.samples_per_s.reset();
  CHECK(Json::parse(json_summary({&summary, 1})).at("samples_per_s").is_null());
}

TEST_CASE("numbers and names survive the way through JSON", "[report]") {
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
