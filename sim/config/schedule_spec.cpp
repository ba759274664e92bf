#include "sim/config/schedule_spec.hpp"

#include <array>

namespace pipewright::config {
namespace {

constexpr std::string_view allowed =
    "a name, a map, or a list of those, such as 1f1b or {name: interleaved-1f1b, chunks: 2}";

constexpr std::array table{
    Key<ScheduleSpec>{{.name = "name",
                       .flag = "--schedule",
                       .help = "which schedule, such as interleaved-1f1b",
                       .required = true},
                      [](const Field& field, ScheduleSpec& spec) {
                        spec.name = read_text(field, "a name such as interleaved-1f1b");
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
};

}  // namespace

std::vector<ScheduleSpec> read_schedules(const Field& field) {
  std::vector<ScheduleSpec> schedules;
  for (const Field& item : items(field, allowed)) {
    ScheduleSpec spec;
    if (item.value.kind == Value::Kind::map) {
      read_keys<ScheduleSpec>(item, table, spec);
    } else {
      spec.name = read_text(item, allowed);
      spec.origin = item.value.origin;
    }
    schedules.push_back(std::move(spec));
  }
  return schedules;
}

std::vector<KeyInfo> schedule_keys() {
  std::vector<KeyInfo> result;
  for (const auto& key : table) result.push_back(key.info);
  return result;
}

}  // namespace pipewright::config
