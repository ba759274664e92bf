#include "sim/config/schedule_spec.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::config {
namespace {

constexpr std::string_view schedules_allowed =
    "a name, a map, or a list of those, such as 1f1b or {name: interleaved-1f1b, chunks: 2}";

// Reads the name of a schedule or the path of a schedule file, which is relative to the scenario's
// folder.
std::string read_name(const Field& field, std::string_view allowed) {
  const std::string& text = read_text(field, allowed);
  if (!is_file(schedule_source(text))) return text;
  return existing_path(field, "a schedule's name, or the path of a schedule file").string();
}

constexpr Key<ScheduleSpec> name_key{{.name = "name",
                                      .flag = "--schedule",
                                      .help = "name of the schedule, such as interleaved-1f1b",
                                      .required = true},
                                     {[](const Field& field, ScheduleSpec& spec) {
                                       spec.name =
                                           read_name(field, "a name such as interleaved-1f1b");
                                       spec.origin = field.value.origin;
                                     }}};

template <std::size_t i>
constexpr Key<ScheduleSpec> choice_key{
    {.name = schedules::choices[i].key,
     .flag = schedules::choices[i].flag,
     .help = schedules::choices[i].help,
     .default_value = schedules::choices[i].default_value},
    {[](const Field& field, ScheduleSpec& spec) {
       const schedules::ChoiceInfo& info = schedules::choices[i];
       spec.choices[i] = {
           info.is_flag ? std::uint32_t{read_flag(field)} : read_count(field, info.example),
           field.value.origin};
     },
     {schedules::choices[i].is_flag ? ValueType::flag : ValueType::count}}};

constexpr Key<ScheduleSpec> memory_limit_key{
    {.name = "memory_limit",
     .help =
         "memory limit per device for the schedule 'searched'; default: the memory of the device"},
    size<&ScheduleSpec::memory_limit, "a size of memory">};

constexpr Key<ScheduleSpec> legacy_key{
    {.name = "legacy",
     .flag = "--legacy",
     .help =
         "read a .csv in the format of 2024: B is the input gradient, BW the full backward pass",
     .default_value = "false"},
    {[](const Field& field, ScheduleSpec& spec) { spec.legacy = read_flag(field); },
     {ValueType::flag}}};

template <std::size_t... i>
constexpr auto keys_of(std::index_sequence<i...>) {
  return std::array{name_key, choice_key<i>..., memory_limit_key, legacy_key};
}
constexpr auto schedule_table = keys_of(std::make_index_sequence<schedules::choices.size()>());

std::size_t index_of(schedules::Choice choice) {
  const auto info = std::ranges::find(schedules::choices, choice, &schedules::ChoiceInfo::choice);
  return static_cast<std::size_t>(info - schedules::choices.begin());
}

}  // namespace

const std::optional<Located<std::uint32_t>>& ScheduleSpec::operator[](
    schedules::Choice choice) const {
  return choices.at(index_of(choice));
}

std::optional<Located<std::uint32_t>>& ScheduleSpec::operator[](schedules::Choice choice) {
  return choices.at(index_of(choice));
}

void ScheduleSpec::put_choices(schedules::Parameters& parameters) const {
  parameters.legacy = legacy;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i]) parameters.*schedules::choices[i].choice = choices[i]->value;
}

bool is_file(ScheduleSource source) {
  return source == ScheduleSource::torch_file || source == ScheduleSource::building_block;
}

ScheduleSource schedule_source(std::string_view name) {
  if (name == searched) return ScheduleSource::search;
  if (name.ends_with(".csv")) return ScheduleSource::torch_file;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return ScheduleSource::building_block;
  return ScheduleSource::catalog;
}

std::vector<ScheduleSpec> read_schedules(const Field& field) {
  std::vector<ScheduleSpec> schedules;
  for (const Field& item : items(field, schedules_allowed)) {
    ScheduleSpec spec;
    if (item.value.kind == Value::Kind::map) {
      read_keys<ScheduleSpec>(item, schedule_table, spec);
    } else {
      spec.name = read_name(item, schedules_allowed);
      spec.origin = item.value.origin;
    }
    schedules.push_back(std::move(spec));
  }
  return schedules;
}

void resolve_schedules(Value& schedules, const std::vector<ScheduleSpec>& specs) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!is_file(schedule_source(specs[i].name))) continue;
    Value& item = schedules.kind == Value::Kind::list ? schedules.items.at(i) : schedules;
    Value& name = item.kind == Value::Kind::map ? *find(item, "name") : item;
    name.text = specs[i].name;
    name.origin.folder.clear();
  }
}

std::vector<KeyRow> schedule_keys() { return rows_of(schedule_table); }

}  // namespace pipewright::config
