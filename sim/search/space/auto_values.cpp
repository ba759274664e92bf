#include "sim/search/space/auto_values.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/space/open_values.hpp"

namespace pipewright::search {
namespace {

using config::Error;
using config::Origin;
using config::Value;

struct Divides {
  std::string_view key;
  std::set<std::uint64_t> Known::*numbers;
  std::string_view needs;  // where there are none
};
constexpr std::string_view how_many_gpus =
    "how many GPUs there are: give search.gpus, or a cluster that says it";
constexpr std::array dividing{
    Divides{"parallel.tp", &Known::gpus, how_many_gpus},
    Divides{"parallel.cp", &Known::gpus, how_many_gpus},
    Divides{"parallel.dp", &Known::gpus, how_many_gpus},
    Divides{"parallel.pp", &Known::gpus, how_many_gpus},
    Divides{"devices", &Known::gpus, how_many_gpus},
    Divides{"parallel.ep", &Known::experts, "a model"},
    Divides{"parallel.etp", &Known::gpus, how_many_gpus},
    Divides{"parallel.shard", &Known::gpus, how_many_gpus},
    Divides{"parallel.replicate", &Known::gpus, how_many_gpus},
    Divides{"training.microbatch_size", &Known::batches, "global_batch"},
};

// All that a key can be by the table of keys: of a flag, or of a choice that is open by itself.
std::span<const std::string_view> choices_of(const config::KeyRow& row) {
  return is_in_whole(row.name) ? std::span<const std::string_view>() : row.value.choices;
}

// In order, of all the numbers together.
std::vector<std::string> divisors(const std::set<std::uint64_t>& numbers) {
  std::set<std::uint64_t> found;
  for (const std::uint64_t number : numbers)
    for (std::uint64_t low = 1; low * low <= number; ++low)
      if (number % low == 0) found.insert({low, number / low});
  std::vector<std::string> texts;
  for (const std::uint64_t value : found) texts.push_back(std::to_string(value));
  return texts;
}

constexpr std::string_view of_domain = "placement.domain";

// The most of a domain that is a multiple of each power of two: 64 and 72 of 72.
std::vector<std::string> parts_of_domains(const std::set<std::uint64_t>& domains) {
  std::set<std::uint64_t> found;
  for (const std::uint64_t gpus : domains)
    for (std::uint64_t unit = 1; unit <= gpus; unit *= 2) found.insert(gpus / unit * unit);
  std::vector<std::string> texts;
  for (const std::uint64_t value : found) texts.push_back(std::to_string(value));
  return texts;
}

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
      throw Error(entry.value.origin,
                  "schedule.chunks is auto, which needs to know the layers of a model");
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

void check_auto(const std::string& key, const Origin& origin) {
  std::vector<std::string_view> keys{"schedule", "schedule.chunks", of_domain};
  for (const Divides& known : dividing) keys.push_back(known.key);
  for (const config::KeyRow& row : scenario_rows())
    if (!choices_of(row).empty()) keys.push_back(row.name);
  if (std::ranges::find(keys, key) != keys.end()) return;
  throw Error(origin, fmt::format("{} is auto, and nobody knows all that it can be; write "
                                  "the values, as in [1, 2], or auto for: {}",
                                  key, fmt::join(keys, ", ")));
}

std::vector<std::string> auto_values(const std::string& key, const Known& known,
                                     const Origin& origin) {
  check_auto(key, origin);
  if (key == of_domain) {
    if (known.domains.empty())
      throw Error(origin, fmt::format("{} is auto, which needs to know a cluster", key));
    return parts_of_domains(known.domains);
  }
  for (const Divides& by : dividing) {
    if (by.key != key) continue;
    if ((known.*by.numbers).empty())
      throw Error(origin, fmt::format("{} is auto, which needs to know {}", key, by.needs));
    return divisors(known.*by.numbers);
  }
  const auto& rows = scenario_rows();
  const auto choices = choices_of(*std::ranges::find(rows, key, &config::KeyRow::name));
  return {choices.begin(), choices.end()};
}

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
  throw Error(name.origin, fmt::format("schedule is {}", config::describe(name)), "schedule")
      .suggest_name(config::nearest_name(name.text, names))
      .allow(fmt::format("a file, auto, or one of {}", fmt::join(names, ", ")));
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
