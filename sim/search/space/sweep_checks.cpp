#include "sim/search/space/sweep_checks.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/space/auto_values.hpp"
#include "sim/search/space/open_values.hpp"
#include "sim/search/space/schedule_values.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Value;

Entry text_entry(std::string_view key, std::string_view text) {
  return {std::string(key), {}, config::make_text(std::string(text), {})};
}

// Keys that only others give a meaning to, so that they cannot be looked at alone.
bool needs_others(std::string_view key) {
  constexpr std::array<std::string_view, 4> keys{"placement", "activation", "state", "layer_times"};
  return std::ranges::find(keys, key) != keys.end();
}

// The least scenario around one key and its value.
Value around(const Entry& entry) {
  const std::string key = canonical_key(entry.key);
  const bool halves = key == "input_grad_times" || key == "weight_grad_times";
  const bool pipeline = entry.value.kind == Value::Kind::map && key == "parallel" &&
                        (find(entry.value, "pp") || find(entry.value, "pipeline"));
  Value scenario;
  const auto add = [&](std::string_view name, bool given) {
    if (!given && key != name) scenario.entries.push_back(text_entry(name, "1"));
  };
  add("devices", pipeline);
  add("microbatches", key == "global_batch");
  add("forward_times", false);
  add("backward_times", halves);
  if (halves) {
    add("input_grad_times", false);
    add("weight_grad_times", false);
  }
  scenario.entries.push_back(entry);
  return scenario;
}

// Takes out what a path leads to.
void erase(Value& root, std::vector<std::size_t> path) {
  const std::size_t last = path.back();
  path.pop_back();
  Value& parent = at_path(root, path);
  if (parent.kind == Value::Kind::map)
    parent.entries.erase(parent.entries.begin() + static_cast<std::ptrdiff_t>(last));
  else
    parent.items.erase(parent.items.begin() + static_cast<std::ptrdiff_t>(last));
}

// Without what `auto` of a schedule stands for.
void drop_auto_chunks(Value& schedule) {
  std::erase_if(schedule.entries, [](const Entry& entry) { return entry.value.text == "auto"; });
}

void check_place(const OpenPlace& place) {
  if (place.automatic) check_auto(place.key, place.origin);
  for (const Value& value : place.values) {
    if (place.key == "schedule") check_schedule(value);
    for (const Entry& entry : value.entries)
      if (entry.value.text == "auto") check_auto(place.key + "." + entry.key, entry.value.origin);
  }
}

// The entry with the first value in each open place, then with each of the others in one of them.
void check_entry(const Entry& given) {
  Value single;
  single.entries.push_back(given);
  const std::vector<OpenPlace> places = open_places(single);
  const auto probe = [&](const Value& filled) {
    Value cleared = filled;
    for (const OpenPlace& place : places | std::views::reverse)
      if (place.automatic && is_key(place.key)) erase(cleared, place.path);
    if (cleared.entries.empty()) return;
    Value& value = cleared.entries.front().value;
    if (canonical_key(given.key) == "schedule") drop_auto_chunks(value);
    config::read_scenario(around(cleared.entries.front()));
  };
  Value first = single;
  for (const OpenPlace& place : places)
    if (!place.automatic) at_path(first, place.path) = place.values.front();
  probe(first);
  for (const OpenPlace& place : places) check_place(place);
  for (const OpenPlace& place : places) {
    // A range is sound if its ends are.
    const bool range = at_path(single, place.path).kind == Value::Kind::text;
    for (std::size_t i = 1; i < place.values.size(); ++i) {
      if (range && i + 1 < place.values.size()) continue;
      Value other = first;
      at_path(other, place.path) = place.values[i];
      probe(other);
    }
  }
}

// With one pipeline device where that is open, and without all else that is open and not needed:
// keys that are missing, or that no others may stand beside.
void check_together(Value scenario) {
  const std::vector<OpenPlace> places = open_places(scenario);
  for (const OpenPlace& place : places | std::views::reverse) {
    Value& value = at_path(scenario, place.path);
    if (place.key == "parallel.pp" || place.key == "devices")
      value = config::make_text("1", place.origin);
    else if (place.path.size() == 1 && !place.automatic)
      value = place.values.front();
    else
      erase(scenario, place.path);
  }
  const bool batch = find(scenario, "global_batch") && !find(scenario, "microbatches") &&
                     !find(scenario, "num_batches");
  std::erase_if(scenario.entries, [&](const Entry& entry) {
    const std::string key = canonical_key(entry.key);
    return needs_others(key) || key == "variation" || key == "symmetric" || key == "schedule" ||
           (batch && key == "global_batch");
  });
  if (batch) scenario.entries.push_back(text_entry("microbatches", "1"));
  config::read_scenario(scenario);
}

void refuse_jitter(const Value& value, bool under_jitter) {
  if (under_jitter && value.kind == Value::Kind::text && value.text != "0" && value.text != "0 %")
    throw Error(locate(value.origin,
                       fmt::format("variation.jitter is {}, and a search compares candidates that "
                                   "would each draw other times; leave it out",
                                   config::describe(value))));
  for (const Value& item : value.items) refuse_jitter(item, under_jitter);
  for (const Entry& entry : value.entries)
    refuse_jitter(entry.value, under_jitter || entry.key == "jitter");
}

}  // namespace

void check_values(const Value& scenario) {
  for (const Entry& entry : scenario.entries) {
    if (entry.key == "variation") refuse_jitter(entry.value, false);
    if (!needs_others(canonical_key(entry.key))) check_entry(entry);
  }
  check_together(scenario);
}

}  // namespace pipewright::search
