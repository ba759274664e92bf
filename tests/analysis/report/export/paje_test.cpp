#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "analysis/report/export/exports.hpp"
#include "analysis/trace/sink.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using Event = std::map<std::string, std::string>;  // Fields by name; "" is the name of the event.

// Splits a line at spaces into words. Quoted words may contain spaces.
std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream rest(line);
  while (rest >> std::ws && !rest.eof()) {
    std::string word;
    if (rest.peek() == '"') {
      rest.get();
      std::getline(rest, word, '"');
    } else {
      rest >> word;
    }
    words.push_back(word);
  }
  return words;
}

// Parses a Paje trace. The header of the file defines the fields of each kind of event.
std::vector<Event> parse_paje(const std::string& text) {
  struct Definition {
    std::string name;
    std::vector<std::string> fields;
  };
  std::map<std::string, Definition> definitions;
  std::string current;
  std::vector<Event> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words = split_line(line);
    if (words[0] == "%EventDef") {
      current = words[2];
      definitions[current].name = words[1];
    } else if (words[0] == "%EndEventDef") {
      current.clear();
    } else if (words[0] == "%") {
      definitions[current].fields.push_back(words[1]);
    } else {
      REQUIRE(definitions.count(words[0]) == 1);
      const Definition& definition = definitions[words[0]];
      CAPTURE(line);
      REQUIRE(words.size() == definition.fields.size() + 1);
      Event event{{"", definition.name}};
      for (std::size_t i = 1; i < words.size(); ++i) event[definition.fields[i - 1]] = words[i];
      events.push_back(event);
    }
  }
  return events;
}

std::vector<Event> exported(const trace::Trace& trace) {
  std::ostringstream stream;
  trace::replay(trace, *paje_export(stream));
  return parse_paje(stream.str());
}

std::vector<Event> events_named(const std::vector<Event>& events, const std::string& name) {
  std::vector<Event> matches;
  std::copy_if(events.begin(), events.end(), std::back_inserter(matches),
               [&](const Event& event) { return event.at("") == name; });
  return matches;
}

// Checks that times do not decrease, names are defined before their use, and states and links end
// as they began.
void check_rules(const std::vector<Event>& events) {
  double now = 0;
  std::set<std::string> types{"0"};
  std::set<std::string> containers{"0"};
  std::set<std::string> values;
  std::map<std::string, int> depth;
  std::map<std::string, std::string> links;
  for (const Event& event : events) {
    const std::string& name = event.at("");
    if (name.rfind("PajeDefine", 0) == 0) {
      CHECK(types.count(event.at("Type")) == 1);
      (name == "PajeDefineEntityValue" ? values : types).insert(event.at("Alias"));
      continue;
    }
    CHECK(std::stod(event.at("Time")) >= now);
    now = std::stod(event.at("Time"));
    CHECK(types.count(event.at("Type")) == 1);
    if (event.count("Container") == 1) CHECK(containers.count(event.at("Container")) == 1);
    if (name == "PajeCreateContainer") CHECK(containers.insert(event.at("Alias")).second);
    if (name == "PajeDestroyContainer") CHECK(containers.erase(event.at("Name")) == 1);
    if (name == "PajePushState" || name == "PajeStartLink" || name == "PajeEndLink")
      CHECK(values.count(event.at("Value")) == 1);
    if (name == "PajePushState") ++depth[event.at("Container")];
    if (name == "PajePopState") CHECK(--depth[event.at("Container")] >= 0);
    if (name == "PajeStartLink") CHECK(links.emplace(event.at("Key"), event.at("Value")).second);
    if (name == "PajeEndLink") {
      CHECK(links[event.at("Key")] == event.at("Value"));
      links.erase(event.at("Key"));
    }
  }
  for (const auto& [container, open_states] : depth) CHECK(open_states == 0);
  CHECK(links.empty());
  CHECK(containers == std::set<std::string>{"0"});
}

}  // namespace

TEST_CASE("a Paje file follows the definitions of its header and the rules of the format",
          "[export]") {
  check_rules(exported(pipewright::test::two_device_run()));
  check_rules(exported(test::fused_trace()));
  check_rules(exported(test::one_f_one_b_trace({.devices = 4, .blocked_s = 1e-4})));
  for (unsigned seed = 1; seed <= 5; ++seed)
    check_rules(exported(pipewright::test::random_trace(seed, 3, 60)));
}

TEST_CASE("a Paje file has passes as states and memory as variables", "[export]") {
  const trace::Trace run = pipewright::test::two_device_run();
  const std::vector<Event> events = exported(run);
  std::vector<Event> states = events_named(events, "PajePushState");
  CHECK(states.size() == run.passes.size());
  std::erase_if(states, [](const Event& event) { return event.at("Container") != "D1"; });
  REQUIRE(states.size() == 4);
  CHECK(states[0].at("Time") == "1.500000000");
  CHECK(states[0].at("Value") == "F");
  CHECK(states[1].at("Value") == "B");
  const std::vector<Event> memory = events_named(events, "PajeSetVariable");
  REQUIRE(memory.size() == run.memory.size());
  CHECK(memory[2].at("Value") == "3221225472");
  CHECK(memory[2].at("Time") == "1.000000000");
}

TEST_CASE("a Paje file has transfers as links and containers for concurrent collectives",
          "[export]") {
  trace::Trace run = pipewright::test::two_device_run();
  run.transfers = {{0, 1, 0, 0, trace::TransferKind::activation, 7, 1, 1, 1.5}};
  using trace::CollectiveKind;
  run.collectives = {{0, 0, 0, CollectiveKind::reduce_gradients, 1, 1, 2, 4},
                     {0, 0, 0, CollectiveKind::gather_weights, 1, 1, 3, 5}};
  run.steps = {{0, 0, 10, 11, 11, 12, 13, 0}};
  const std::vector<Event> events = exported(run);
  check_rules(events);
  REQUIRE(events_named(events, "PajeStartLink").size() == 1);
  CHECK(events_named(events, "PajeStartLink")[0].at("StartContainer") == "D0");
  CHECK(events_named(events, "PajeEndLink")[0].at("EndContainer") == "D1");
  std::set<std::string> lanes;
  for (const Event& event : events_named(events, "PajePushState"))
    if (event.at("Type") == "C") lanes.insert(event.at("Container"));
  CHECK(lanes == std::set<std::string>{"C0-0", "C0-1"});
}

TEST_CASE("hostile names stay inside the quotes of a Paje file", "[export]") {
  trace::Trace run = pipewright::test::two_device_run();
  run.devices[0].host = "a\" 6 0 X\n12 b";
  check_rules(exported(run));
}

}  // namespace pipewright::analysis
