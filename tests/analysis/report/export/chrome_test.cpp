#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/report/export/exports.hpp"
#include "analysis/trace/sink.hpp"
#include "tests/analysis/report/export/chrome_rules.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using nlohmann::json;
using pipewright::test::broken_rules;
using pipewright::test::two_device_run;
using Violations = std::vector<std::string>;

std::string exported(const trace::Trace& trace) {
  std::ostringstream stream;
  trace::replay(trace, *chrome_export(stream));
  return stream.str();
}

std::vector<json> events(const trace::Trace& trace, const std::string& phase) {
  std::vector<json> matches;
  const json file = json::parse(exported(trace));
  for (const json& event : file["traceEvents"])
    if (event["ph"] == phase) matches.push_back(event);
  return matches;
}

trace::Trace with_links() {
  trace::Trace run = two_device_run();
  run.links = {{0, "nic \"0\"_UP", "nic", 1, 100}, {1, "idle", "nic", 1, 100}};
  run.link_use = {{0, trace::TrafficClass::activation, 1, 3, 40, 2, 0},
                  {0, trace::TrafficClass::gradient, 2, 3, 5, 1, 0}};
  return run;
}

}  // namespace

TEST_CASE("a Chrome trace follows the rules of its format", "[export]") {
  CHECK(broken_rules(exported(two_device_run())) == Violations{});
  CHECK(broken_rules(exported(with_links())) == Violations{});
  CHECK(broken_rules(exported(test::fused_trace())) == Violations{});
  CHECK(broken_rules(exported(test::one_f_one_b_trace(
            {.devices = 8, .microbatches = 32, .split_backward = true, .blocked_s = 1e-4}))) ==
        Violations{});
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(broken_rules(exported(pipewright::test::random_trace(seed, 1 + seed % 5, 200))) ==
          Violations{});
  }
}

TEST_CASE("passes that overlap by the tolerance of a trace do not cross in a Chrome trace",
          "[export]") {
  trace::Trace run = two_device_run();
  run.passes[1].start -= 0.9e-9;  // On device 0, begins before the previous pass ends.
  CHECK(broken_rules(exported(run)) == Violations{});
}

TEST_CASE("violations of the rules of Chrome traces are found", "[export]") {
  const std::string whole = exported(two_device_run());
  const auto violations_with = [&](const std::string& event) {
    const std::size_t end = whole.rfind("\n]}");
    return broken_rules(whole.substr(0, end) + ",\n" + event + "\n]}").size();
  };
  CHECK(violations_with(R"({"ph":"C","pid":1,"ts":1,"name":"memory","args":{"a":1}})") == 0);
  CHECK(violations_with(R"({"ph":"C","pid":1,"ts":1,"name":"memory","args":{"a":"1"}})") == 1);
  CHECK(violations_with(R"({"ph":"C","pid":1,"ts":-1,"name":"memory","args":{"a":1}})") == 1);
  CHECK(violations_with(R"({"ph":"C","pid":77,"ts":1,"name":"memory","args":{"a":1}})") == 1);
  CHECK(violations_with(
            R"({"ph":"X","pid":1,"tid":1,"ts":1500000,"dur":1000000,"name":"","cat":""})") == 1);
  CHECK(violations_with(R"({"ph":"X","pid":1,"tid":1,"ts":1,"name":"","cat":""})") == 1);
  CHECK(violations_with(R"({"ph":"X","pid":1,"tid":99,"ts":1,"dur":1,"name":"","cat":""})") == 1);
  CHECK(violations_with(R"({"ph":"s","pid":1,"tid":1,"ts":1,"id":9,"name":"a","cat":"a"})") == 1);
  CHECK(broken_rules(whole.substr(0, whole.size() - 4)) == Violations{"no JSON"});
}

TEST_CASE("slices of a Chrome trace are passes, with times to the nanosecond", "[export]") {
  const std::vector<json> slices = events(two_device_run(), "X");
  std::size_t passes = 0;
  for (const json& slice : slices) passes += slice["tid"] == 1 ? 1 : 0;
  CHECK(passes == two_device_run().passes.size());
  const json& third = slices[2];  // In the order of the rows.
  CHECK(third["name"] == "F 0");
  CHECK(third["pid"] == 2);
  CHECK(third["ts"].get<double>() == 1.5e6);
  CHECK(third["dur"].get<double>() == 1e6);
  CHECK(third["args"]["stage"] == 1);
  CHECK(third["args"]["input_sent_s"] == 1.0);
  CHECK(third["args"]["input_ready_s"] == 1.5);
}

TEST_CASE("arrows lead from the pass that produces a tensor to the pass that consumes it",
          "[export]") {
  std::map<std::uint64_t, std::pair<json, json>> arrows;
  for (const json& event : events(two_device_run(), "s")) arrows[event["id"]].first = event;
  for (const json& event : events(two_device_run(), "f")) arrows[event["id"]].second = event;
  REQUIRE(arrows.size() == 4);  // Two activations down and two gradients up.
  int gradients = 0;
  for (const auto& [id, ends] : arrows) {
    const bool is_gradient = ends.first["cat"] == "gradient";
    gradients += is_gradient ? 1 : 0;
    CHECK(ends.first["pid"] == (is_gradient ? 2 : 1));
    CHECK(ends.second["pid"] == (is_gradient ? 1 : 2));
  }
  CHECK(gradients == 2);
  // Microbatch 0: F on device 0 ends at 1 s, and F on device 1 starts at 1.5 s.
  CHECK(arrows[1].first["ts"].get<double>() == Approx(1e6).margin(0.0011));
  CHECK(arrows[1].second["ts"] == 1.5e6);
}

TEST_CASE("a Chrome trace of a whole pipeline has an arrow for each boundary", "[export]") {
  const trace::Trace run = test::one_f_one_b_trace({.devices = 4, .microbatches = 8});
  CHECK(events(run, "s").size() == 2U * 3 * 8);
}

TEST_CASE("concurrent transfers have threads of their own, consecutive ones share one",
          "[export]") {
  trace::Trace run = two_device_run();
  using trace::TransferKind;
  run.transfers = {{0, 1, 0, 0, TransferKind::activation, 7, 1, 1, 3},
                   {0, 1, 0, 1, TransferKind::activation, 7, 2, 2, 4},
                   {0, 1, 0, 1, TransferKind::activation, 7, 2, 3, 5}};
  CHECK(broken_rules(exported(run)) == Violations{});
  std::map<std::string, int> names;
  for (const json& event : events(run, "M"))
    if (event["name"] == "thread_name") ++names[event["args"]["name"].get<std::string>()];
  CHECK(names ==
        std::map<std::string, int>{
            {"passes", 2}, {"sends", 1}, {"sends 2", 1}, {"receives", 1}, {"receives 2", 1}});
  CHECK(events(run, "X").back()["args"]["waited_s"] == 1.0);
}

TEST_CASE("the norm of gradients begins when the last device has its gradients", "[export]") {
  trace::Trace run = two_device_run();
  run.steps = {{0, 0, 6, 7, 10, 11, 11, 0}, {1, 0, 6, 9, 10, 11, 11, 0}};
  CHECK(broken_rules(exported(run)) == Violations{});
  std::map<std::pair<int, std::string>, double> durations;  // Microseconds, by process and name.
  for (const json& event : events(run, "X"))
    durations[{event["pid"].get<int>(), event["name"].get<std::string>()}] = event["dur"];
  CHECK(durations.at({1, "waits for other devices"}) == 2e6);
  CHECK(durations.at({1, "norm of gradients"}) == 1e6);
  CHECK(durations.count({2, "waits for other devices"}) == 0);
  CHECK(durations.at({2, "norm of gradients"}) == 1e6);
}

TEST_CASE("memory counters have the bytes of each device", "[export]") {
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::vector<json> counters;
  for (const json& event : events(two_device_run(), "C"))
    if (event["pid"] == 1) counters.push_back(event);
  REQUIRE(counters.size() == 3);
  CHECK(counters[0]["args"] == json{{"weights_bytes", 4 * gib}});
  CHECK(counters[1]["ts"] == 1e6);
  CHECK(counters[1]["args"] == json{{"weights_bytes", 4 * gib}, {"activations_bytes", 3 * gib}});
  CHECK(counters[2]["args"]["activations_bytes"] == 0);
}

TEST_CASE("link counters sum up the rates of traffic classes", "[export]") {
  std::vector<json> counters;
  for (const json& event : events(with_links(), "C"))
    if (event["pid"] == 3) counters.push_back(event);
  REQUIRE(counters.size() == 3);
  CHECK(counters[0]["name"] == "nic \"0\"_UP");
  CHECK(counters[0]["args"] ==
        json{{"activation_bytes_per_s", 20.0}, {"gradient_bytes_per_s", 0.0}});
  CHECK(counters[1]["args"] ==
        json{{"activation_bytes_per_s", 20.0}, {"gradient_bytes_per_s", 5.0}});
  CHECK(counters[2]["args"] ==
        json{{"activation_bytes_per_s", 0.0}, {"gradient_bytes_per_s", 0.0}});
}

TEST_CASE("hostile names stay inside the strings of a Chrome trace", "[export]") {
  trace::Trace run = two_device_run();
  run.devices[0].host = "\"}]</script>\x01\xff\n";
  run.run.schedule = "\\\"";
  CHECK(broken_rules(exported(run)) == Violations{});
  CHECK(json::parse(exported(run))["otherData"]["schedule"] == "\\\"");
}

}  // namespace pipewright::analysis
