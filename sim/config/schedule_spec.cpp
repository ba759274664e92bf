#include "sim/config/schedule_spec.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

constexpr std::string_view allowed =
    "a name, a map, or a list of those, such as 1f1b or {name: interleaved-1f1b, chunks: 2}";

// A path is taken from the folder of the scenario.
std::string read_name(const Field& field, std::string_view what) {
  const std::string& text = read_text(field, what);
  if (!is_file(schedule_source(text))) return text;
  const std::filesystem::path path =
      (std::filesystem::path(field.value.origin.folder) / text).lexically_normal();
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  if (folder || !std::filesystem::exists(path, ignored))
    throw Error(
        fmt::format("{} is {}, and {} is {}; allowed: a schedule's name, or the path of a "
                    "schedule file, from the folder of the scenario or, on a command "
                    "line, the current one",
                    subject(field), in_quotes(text), in_quotes(path.string()),
                    folder ? "a folder" : "no file"));
  return path.string();
}

constexpr std::array table{
    Key<ScheduleSpec>{{.name = "name",
                       .flag = "--schedule",
                       .help = "which schedule, such as interleaved-1f1b",
                       .required = true},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.name = read_name(field, "a name such as interleaved-1f1b");
                        spec.origin = field.value.origin;
                      }},
    Key<ScheduleSpec>{{.name = "chunks", .flag = "--chunks", .help = "stages on each device"},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.chunks = {read_count(field, "2"), field.value.origin};
                      }},
    Key<ScheduleSpec>{{.name = "group_size",
                       .help = "microbatches that pass a chunk before the next chunk's turn"},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.group_size = {read_count(field, "8"), field.value.origin};
                      }},
    Key<ScheduleSpec>{{.name = "slices", .help = "of a microbatch along the sequence (2)"},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.slices = {read_count(field, "2"), field.value.origin};
                      }},
    Key<ScheduleSpec>{{.name = "recompute",
                       .help = "chunks of a device whose forward is run again before its backward"},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.recompute = {read_count(field, "1"), field.value.origin};
                      }},
    Key<ScheduleSpec>{
        {.name = "memory_limit",
         .help = "of 'searched': bytes that a device may hold; else what it has"},
        [](const Field& field, ScheduleSpec& spec) {
          spec.memory_limit = {read_size(field, "a size of memory"), field.value.origin};
        }},
};

}  // namespace

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
  for (const Field& item : items(field, allowed)) {
    ScheduleSpec spec;
    if (item.value.kind == Value::Kind::map) {
      read_keys<ScheduleSpec>(item, table, spec);
    } else {
      spec.name = read_name(item, allowed);
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

std::vector<KeyInfo> schedule_keys() { return key_infos(table); }

}  // namespace pipewright::config
