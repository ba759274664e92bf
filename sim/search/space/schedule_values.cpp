#include "sim/search/space/schedule_values.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/space/alternatives.hpp"
#include "sim/search/space/auto_values.hpp"

namespace pipewright::search {
namespace {

using config::Error;
using config::Value;

bool is_auto(const Value& value) { return value.kind == Value::Kind::text && value.text == "auto"; }

Value with_chunks(const Value& name, std::string chunks) {
  Value map;
  map.origin = name.origin;
  map.entries.push_back({"name", name.origin, name});
  map.entries.push_back({"chunks", name.origin, make_text(std::move(chunks), name.origin)});
  return map;
}

// One chunk would be another schedule, and with as many as layers there is one device.
std::vector<Value> whole_catalog(const Value& place, const std::set<std::uint64_t>& layers) {
  std::vector<Value> schedules;
  for (const schedules::Entry& entry : schedules::catalog()) {
    const Value name = make_text(std::string(entry.name), place.origin);
    if (!entry.takes(&schedules::Parameters::chunks) || layers.empty()) {
      schedules.push_back(name);
      continue;
    }
    for (std::string& chunks : divisors(layers)) {
      const std::uint64_t number = std::stoull(chunks);
      if (number >= 2 && number <= *layers.rbegin() / 2)
        schedules.push_back(with_chunks(name, std::move(chunks)));
    }
  }
  return schedules;
}

void append(const Value& schedule, const std::set<std::uint64_t>& layers,
            std::vector<Value>& schedules) {
  if (is_auto(schedule)) {
    for (Value& made : whole_catalog(schedule, layers)) schedules.push_back(std::move(made));
    return;
  }
  for (const config::Entry& entry : schedule.entries) {
    if (!is_auto(entry.value)) continue;
    check_auto("schedule." + entry.key, entry.value.origin);
    if (layers.empty())
      throw Error(locate(entry.value.origin,
                         "schedule.chunks is auto, which needs to know the layers of a model"));
    for (std::string& chunks : divisors(layers)) {
      schedules.push_back(schedule);
      *find(schedules.back(), entry.key) = make_text(std::move(chunks), entry.value.origin);
    }
    return;
  }
  const bool name_alone = schedule.entries.size() == 1 && schedule.entries.front().key == "name";
  schedules.push_back(name_alone ? schedule.entries.front().value : schedule);
}

const Value& name_of(const Value& schedule) {
  const Value* const name = find(schedule, "name");
  return name == nullptr ? schedule : *name;
}

bool is_of_catalog(const std::string& name) {
  return config::schedule_source(name) == config::ScheduleSource::catalog;
}

}  // namespace

std::vector<Value> schedule_values(const OpenPlace& place, const std::set<std::uint64_t>& layers) {
  std::vector<Value> schedules;
  if (place.automatic) append(make_text("auto", place.origin), layers, schedules);
  for (const Value& value : place.values) append(value, layers, schedules);
  return without_repeats(std::move(schedules));
}

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog()) names.push_back(entry.name);
  names.push_back(config::searched);
  return names;
}

void check_schedule(const Value& schedule) {
  const Value& name = name_of(schedule);
  if (name.kind != Value::Kind::text || is_auto(name) || !is_of_catalog(name.text)) return;
  const std::vector<std::string_view> names = schedule_names();
  if (std::ranges::find(names, name.text) != names.end()) return;
  throw Error(fmt::format("{} is {}{}allowed: a file, auto, or one of {}",
                          config::subject({name, "schedule"}), config::describe(name),
                          config::did_you_mean(name.text, names), fmt::join(names, ", ")));
}

std::string schedule_name(const Value& schedule) {
  const std::string& name = name_of(schedule).text;
  const bool file = config::is_file(config::schedule_source(name));
  return file ? std::filesystem::path(name).filename().string() : name;
}

std::string schedule_label(const Value& schedule) {
  std::string label = schedule_name(schedule);
  for (const config::Entry& entry : schedule.entries) {
    if (entry.key == "name") continue;
    label += entry.key == "chunks" ? fmt::format(" x{}", entry.value.text)
                                   : fmt::format(" {} {}", entry.key, line_of(entry.value));
  }
  return label;
}

}  // namespace pipewright::search
