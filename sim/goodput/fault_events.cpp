#include "sim/goodput/fault_events.hpp"

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::goodput {
namespace {

using config::Field;
using config::Value;

constexpr config::Document document{.noun = "a trace of faults",
                                    .needs = "node_id, event_time, event_type and fault_type",
                                    .example = "[{\"node_id\": \"a\", ...}]",
                                    .is_foreign = true};

// Class of faults in the trace that stands for a kind of failure; all other classes are node
// failures.
struct ClassName {
  std::string_view name;
  config::Goodput::Kind kind;
};
constexpr std::array classes{ClassName{"GPU", config::Goodput::Kind::gpu},
                             ClassName{"NIC", config::Goodput::Kind::nic},
                             ClassName{"Parameter Plane Cable", config::Goodput::Kind::network}};

const Value& need(const Value& map, std::string_view key) {
  const Value* const value = map.kind == Value::Kind::map ? find(map, key) : nullptr;
  if (value == nullptr)
    throw config::Error(map.origin,
                        fmt::format("{} is missing; an event has {}", key, document.needs));
  return *value;
}

std::string kind_of(const Value& fault) {
  const Value& of_class = need(fault, "Class");
  for (const ClassName& row : classes)
    if (row.name == of_class.text) return std::string(name_of(row.kind));
  return std::string(name_of(config::Goodput::Kind::node));
}

double seconds_of(const Value& time) {
  constexpr double day = 86400;
  const Field field{time, "event_time"};
  const std::string& text = config::read_text(field, "days since the first event, such as 8.61");
  return text == "0" || text == "0.0"
             ? 0
             : day * config::parse_positive_number(text, subject(field), "a number of days");
}

// Node that is out of service, with the number of its faults that have not ended.
struct Out {
  std::size_t failure = 0;  // Index of its failure.
  std::uint32_t faults = 0;
};

}  // namespace

std::vector<TracedFailure> read_fault_events(const std::filesystem::path& file,
                                             const config::Goodput& goodput) {
  const Value events = config::read_yaml_file(file.string(), document);
  if (events.kind != Value::Kind::list)
    throw config::Error(events.origin, "a trace of faults is a list of events");
  std::vector<TracedFailure> failures;
  std::map<std::string, Out> out;
  std::map<std::string, std::uint64_t> node_numbers;
  constexpr std::array<std::string_view, 2> types{"fault_start", "fault_end"};
  double before = 0;
  for (const Value& event : events.items) {
    const std::string& node = config::read_text({need(event, "node_id"), "node_id"}, "a name");
    const Value& time = need(event, "event_time");
    const double at = seconds_of(time);
    if (at < before)
      throw config::Error(time.origin,
                          fmt::format("event_time is {}, earlier than the "
                                      "previous event; events must be in order of time",
                                      time.text));
    before = at;
    const Value& type = need(event, "event_type");
    if (config::read_choice({type, "event_type"}, types) == 0) {
      const std::string kind = kind_of(need(event, "fault_type"));
      if (out[node].faults++ > 0) continue;
      out[node].failure = failures.size();
      failures.push_back(
          {.at = at,
           .kind = {.name = kind, .detection = goodput.detection, .repair = goodput.repair},
           .node = node_numbers.try_emplace(node, node_numbers.size()).first->second});
    } else {
      const auto it = out.find(node);
      if (it == out.end())
        throw config::Error(type.origin,
                            fmt::format("node {} has a fault_end without a fault_start", node));
      TracedFailure& failure = failures[it->second.failure];
      failure.kind.repair = at - failure.at;
      if (--it->second.faults == 0) out.erase(it);
    }
  }
  return failures;
}

}  // namespace pipewright::goodput
