#include "sim/sweep/auto_values.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/base/numbers.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/open_values.hpp"

namespace pipewright::search {
namespace {

using config::Error;
using config::Origin;
using config::Value;

// A key for which `auto` stands for all divisors of certain numbers, such as the numbers of GPUs.
struct DivisorKey {
  std::string_view key;
  std::set<std::uint64_t> AutoFacts::*numbers;
  std::string_view needs;  // for the error where there are no numbers
  std::string_view advice = {};
};
constexpr std::string_view needs_gpus = "the number of GPUs";
constexpr std::string_view give_gpus = "give search.gpus, or a cluster that defines it";
constexpr std::array divisor_keys{
    DivisorKey{"parallel.tp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.cp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.dp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.pp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"devices", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.ep", &AutoFacts::experts, "a model"},
    DivisorKey{"parallel.etp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.shard", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.replicate", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"parallel.gtp", &AutoFacts::gpus, needs_gpus, give_gpus},
    DivisorKey{"training.microbatch_size", &AutoFacts::batches, "global_batch"},
};

// Returns the values that a key which is a flag or a choice can have, from the table of keys. Empty
// for keys inside a schedule or a model, which cannot be axes of their own.
std::span<const std::string_view> choices_of(const config::KeyRow& row) {
  return is_in_whole(row.name) ? std::span<const std::string_view>() : row.value.choices;
}

std::vector<std::string> texts_of_numbers(const std::set<std::uint64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::uint64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

// Returns all numbers that divide at least one of the given numbers, in ascending order.
std::vector<std::string> divisors(const std::set<std::uint64_t>& numbers) {
  std::set<std::uint64_t> divisors;
  for (const std::uint64_t number : numbers)
    for (std::uint64_t low = 1; low * low <= number; ++low)
      if (number % low == 0) divisors.insert({low, number / low});
  return texts_of_numbers(divisors);
}

constexpr std::string_view domain_key = "placement.domain";

// Returns for each power of two its largest multiple that is at most the size of an NVLink domain:
// 64 and 72 for a domain of 72 GPUs.
std::vector<std::string> parts_of_domains(const std::set<std::uint64_t>& domains) {
  std::set<std::uint64_t> parts;
  for (const std::uint64_t gpus : domains)
    for (std::uint64_t unit = 1; unit <= gpus; unit *= 2) parts.insert(gpus / unit * unit);
  return texts_of_numbers(parts);
}

Value with_chunks(const Value& name, std::string chunks) {
  Value map;
  map.origin = name.origin;
  map.entries.push_back({"name", name.origin, name});
  map.entries.push_back({"chunks", name.origin, make_text(std::move(chunks), name.origin)});
  return map;
}

// Returns all schedules of the catalog; with a model, those whose stages are whole layers. Those
// with chunks occur with each number of chunks that divides the layers, except 1, which is another
// schedule, and the number of layers itself, which would leave a single device.
std::vector<Value> whole_catalog(const Value& open_key, const std::set<std::uint64_t>& layers) {
  std::vector<Value> schedules;
  for (const schedules::Entry& entry : schedules::catalog()) {
    const bool has_model = !layers.empty();
    if (has_model && entry.placement({.devices = 2}).divides_layers()) continue;
    const Value name = make_text(std::string(entry.name), open_key.origin);
    if (!entry.takes(&schedules::Parameters::chunks) || !has_model) {
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

void append_schedules(const Value& schedule, const std::set<std::uint64_t>& layers,
                      std::vector<Value>& schedules) {
  if (is_auto(schedule)) {
    for (Value& made : whole_catalog(schedule, layers)) schedules.push_back(std::move(made));
    return;
  }
  for (const config::Entry& entry : schedule.entries) {
    if (!is_auto(entry.value)) continue;
    check_auto("schedule." + entry.key, entry.value.origin);
    if (layers.empty())
      throw Error(entry.value.origin, "schedule.chunks is auto, which needs the layers of a model");
    for (std::string& chunks : divisors(layers)) {
      schedules.push_back(schedule);
      *find(schedules.back(), entry.key) = make_text(std::move(chunks), entry.value.origin);
    }
    return;
  }
  const bool has_name_only = schedule.entries.size() == 1 && schedule.entries.front().key == "name";
  schedules.push_back(has_name_only ? schedule.entries.front().value : schedule);
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
  std::vector<std::string_view> keys{"schedule", "schedule.chunks", domain_key};
  for (const DivisorKey& row : divisor_keys) keys.push_back(row.key);
  for (const config::KeyRow& row : scenario_rows())
    if (!choices_of(row).empty()) keys.push_back(row.name);
  if (std::ranges::find(keys, key) != keys.end()) return;
  throw Error(origin, fmt::format("{} is auto, but has no fixed set of values", key))
      .suggest(fmt::format("write the values, as in [1, 2]; auto is allowed for: {}",
                           fmt::join(keys, ", ")));
}

std::vector<std::string> auto_values(const std::string& key, const AutoFacts& facts,
                                     const Origin& origin) {
  check_auto(key, origin);
  if (key == domain_key) {
    if (facts.domains.empty())
      throw Error(origin, fmt::format("{} is auto, which needs a cluster", key));
    return parts_of_domains(facts.domains);
  }
  for (const DivisorKey& row : divisor_keys) {
    if (row.key != key) continue;
    if ((facts.*row.numbers).empty())
      throw Error(origin, fmt::format("{} is auto, which needs {}", key, row.needs))
          .suggest(row.advice);
    return divisors(facts.*row.numbers);
  }
  const auto& rows = scenario_rows();
  const auto choices = choices_of(*std::ranges::find(rows, key, &config::KeyRow::name));
  return {choices.begin(), choices.end()};
}

std::vector<Value> schedule_values(const OpenKey& open_key, const std::set<std::uint64_t>& layers) {
  std::vector<Value> schedules;
  if (open_key.automatic) append_schedules(make_text("auto", open_key.origin), layers, schedules);
  for (const Value& value : open_key.values) append_schedules(value, layers, schedules);
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
  const auto entry = std::ranges::find(schedules::catalog(), name.text, &schedules::Entry::name);
  if (entry != schedules::catalog().end()) try {
      return schedules::check_limits(entry->name, parameters_of(schedule));
    } catch (const schedules::Error& error) {
      throw Error(schedule.origin, error.what());
    }
  const std::vector<std::string_view> names = schedule_names();
  throw Error(name.origin, fmt::format("schedule is {}", config::describe(name)), "schedule")
      .suggest_name(config::nearest_name(name.text, names))
      .allow(fmt::format("a file, auto, or one of {}", fmt::join(names, ", ")));
}

schedules::Parameters parameters_of(const Value& schedule) {
  schedules::Parameters parameters{.devices = 1, .microbatches = 1};
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    const Value* const value = find(schedule, info.key);
    if (value == nullptr) continue;
    if (const auto number = base::parse_number<std::uint32_t>(value->text))
      parameters.*info.choice = *number;
  }
  return parameters;
}

std::string schedule_name(const Value& schedule) {
  const std::string& name = name_of(schedule).text;
  const bool is_file = config::is_file(config::schedule_source(name));
  return is_file ? std::filesystem::path(name).filename().string() : name;
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
