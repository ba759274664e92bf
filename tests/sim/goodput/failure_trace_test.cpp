#include "sim/goodput/failure_trace.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/goodput/incidents.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/make_setting.hpp"
#include "support/program.hpp"

using namespace pipewright;
using goodput::Setting;

namespace {

constexpr double day = 86400;

// Returns the settings of a goodput run of a job with 50 nodes, with the keys of `map`.
Setting setting_of(const std::string& map) {
  const std::string text =
      "{devices: 1, microbatches: 1, forward_times: 1, backward_times: 1, goodput: " + map + "}";
  return goodput::make_setting(*config::read_scenario(config::read_yaml_text(text, "")).goodput,
                               config::Parallel{},
                               {.seconds = 10, .gpus = 400, .nodes = 50, .state_bytes = 1e12});
}

std::string error_of(const std::string& map) {
  try {
    setting_of(map);
  } catch (const config::Error& error) {
    return error.what();
  }
  return "no error";
}

// Returns the JSON of an event in the format of InfiniteHBD's failure trace.
std::string event(const std::string& node, const std::string& at, const std::string& type,
                  const std::string& of_class = "GPU") {
  return "  {\"node_id\": \"" + node + "\", \"event_time\": " + at + ", \"event_type\": \"" + type +
         "\",\n   \"fault_type\": {\"Level\": \"Hardware Failure\", \"Class\": \"" + of_class +
         "\", \"Desc\": \"x\"}}";
}

}  // namespace

TEST_CASE("a failure trace is read by its heading and sorted by time") {
  const tests::CommandFolder place;
  place.write("t.csv", "kind,time,nodes\ngpu,3 h,\nnetwork,1 h,4\nsoftware,2 h,\n");
  const std::string file = (place.folder() / "t.csv").string();
  const Setting setting = setting_of("{failure_trace: " + file + ", repair: 2 h}");
  REQUIRE(setting.trace.size() == 3);
  CHECK(setting.failures.empty());
  CHECK(setting.trace[0].at == 3600);
  CHECK(setting.trace[0].kind.nodes == 4);
  CHECK(setting.trace[1].kind.nodes == 0);
  CHECK(setting.trace[2].kind.repair == 7200);
}

TEST_CASE("an error in a trace names its line") {
  const tests::CommandFolder place;
  const auto [text, words] = GENERATE(table<std::string, std::string>(
      {{"time,kind\n1 h,gpu\nsoon,gpu\n", "t.csv:3:1: time is the text 'soon'"},
       {"when,kind\n1 h,gpu\n", "t.csv:1:1: there is no column time"},
       {"time,kind\n1 h,lamp\n", "t.csv:2:1: kind is"},
       {"", "is empty"}}));
  place.write("t.csv", text);
  const std::string message =
      error_of("{failure_trace: " + (place.folder() / "t.csv").string() + "}");
  CAPTURE(message);
  CHECK(message.find(words) != std::string::npos);
}

TEST_CASE("fault events become failures with their repair times") {
  const tests::CommandFolder place;
  place.write("t.json", "[\n" + event("a", "0", "fault_start") + ",\n" +
                            event("b", "1.5", "fault_start", "NIC") + ",\n" +
                            event("a", "2", "fault_start", "Fan") + ",\n" +
                            event("a", "2.5", "fault_end") + ",\n" +
                            event("a", "3", "fault_end", "Fan") + ",\n" +
                            event("a", "4", "fault_start", "Fan") + "\n]\n");
  const std::string file = (place.folder() / "t.json").string();
  const Setting setting = setting_of("{failure_trace: " + file + ", repair: 7 d, detection: 60}");
  // Node a fails again while it is out of service, which adds no failure. Its last failure has no
  // end event.
  REQUIRE(setting.trace.size() == 3);
  CHECK(setting.trace[0].at == 0);
  CHECK(setting.trace[0].kind.name == "gpu");
  CHECK(setting.trace[0].kind.repair == Approx(3 * day));
  CHECK(setting.trace[0].kind.detection == 60);
  CHECK(setting.trace[1].at == Approx(1.5 * day));
  CHECK(setting.trace[1].kind.name == "nic");
  CHECK(setting.trace[2].kind.name == "node");
  CHECK(setting.trace[2].kind.repair == 7 * day);
  CHECK(setting.trace[2].node == setting.trace[0].node);
  CHECK(setting.trace[1].node != setting.trace[0].node);
}

TEST_CASE("an error in an event names its line") {
  const tests::CommandFolder place;
  const auto [events, words] = GENERATE(table<std::string, std::string>(
      {{event("a", "2", "fault_start") + ",\n" + event("b", "1", "fault_start"),
        "t.json:4:34: event_time is 1, earlier than the previous event"},
       {event("a", "2", "fault_end"), "t.json:2:51: node a has a fault_end without a fault_start"},
       {event("a", "soon", "fault_start"), "t.json:2:"},
       {event("a", "1", "fault_begin"), "event_type is the text 'fault_begin'"},
       {"  {\"node_id\": \"a\"}", "t.json:2:3: event_time is missing"}}));
  place.write("t.json", "[\n" + events + "\n]\n");
  const std::string message =
      error_of("{failure_trace: " + (place.folder() / "t.json").string() + "}");
  CAPTURE(message);
  CHECK(message.find(words) != std::string::npos);
}

TEST_CASE("a job has its part of the failures in the trace of a cluster", "[goodput]") {
  // In the trace of the cluster, a thousand nodes fail, one every hour.
  Setting setting{.nodes = 100, .duration = 10 * day};
  for (int i = 0; i < 1000; ++i)
    setting.trace.push_back({3600.0 * i, {.name = "node"}, static_cast<std::uint64_t>(i)});
  setting.trace_share = 0.1;
  CHECK(goodput::interruption_rate(setting) == Approx(0.1 / 3600).epsilon(0.01));
  double count = 0;
  double different = 0;
  double first = 0;
  constexpr int seeds = 200;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    goodput::Incidents incidents(setting, seed);
    different += incidents.next() != first ? 1 : 0;
    first = incidents.next();
    for (; incidents.next() < setting.duration; incidents.take()) ++count;
  }
  // A tenth of one failure per hour is a mean of 24 in ten days. The tolerance is four standard
  // deviations of the mean over seeds.
  CHECK(std::abs(count / seeds - 24) < 4 * std::sqrt(24 * 0.9 / seeds));
  CHECK(different > 0.95 * seeds);

  // A job with a larger share of the cluster has the failures of the smaller job and others.
  Setting larger = setting;
  larger.trace_share = 0.4;
  goodput::Incidents few(setting, 5);
  goodput::Incidents more_nodes(larger, 5);
  for (int i = 0; i < 5; ++i) {
    const double at = few.take().at;
    while (more_nodes.next() < at) more_nodes.take();
    CHECK(more_nodes.take().at == at);
  }
}

TEST_CASE("the cluster of a trace has at least as many nodes as the job") {
  const tests::CommandFolder place;
  place.write("t.csv", "time,node\n1 h,a\n2 h,b\n3 h,a\n4 h,\n");
  const std::string trace = "failure_trace: " + (place.folder() / "t.csv").string();
  const Setting setting = setting_of("{" + trace + ", trace_nodes: 200}");
  CHECK(setting.trace_share == 0.25);
  CHECK(setting.trace[2].node == setting.trace[0].node);
  CHECK(setting.trace[3].node != setting.trace[1].node);
  CHECK(error_of("{" + trace + ", trace_nodes: 49}").find("the job has 50 nodes") !=
        std::string::npos);
  CHECK(error_of("{trace_nodes: 49}").find("needs goodput.failure_trace") != std::string::npos);
}
