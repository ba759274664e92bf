#include "schedules/families/groups.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

// A last group of 0 < x < p microbatches stalls the loop around the devices.
bool fits(std::uint32_t microbatches, std::uint32_t group, std::uint32_t devices) {
  const std::uint32_t rest = microbatches % group;
  return group >= devices && group <= microbatches && (rest == 0 || rest >= devices);
}

// The smallest group that fits; with fewer microbatches than devices, all of them.
std::uint32_t default_group(std::uint32_t microbatches, std::uint32_t devices) {
  std::uint32_t group = std::min(devices, microbatches);
  while (group < microbatches && !fits(microbatches, group, devices)) ++group;
  return group;
}

void check_group(std::string_view name, std::uint32_t microbatches, std::uint32_t group,
                 std::uint32_t devices) {
  if (group == default_group(microbatches, devices) || fits(microbatches, group, devices)) return;
  const char* why = group < devices        ? "a group smaller than the pipeline deadlocks"
                    : group > microbatches ? "a group cannot be larger than the iteration"
                                           : "the last group is smaller than the pipeline";
  throw Error(
      fmt::format("{}: group size {} with {} devices and {} microbatches: {}; group size {} works",
                  name, group, devices, microbatches, why, default_group(microbatches, devices)));
}

// Entry e of the table that all devices read: groups of g microbatches; within a group chunk by
// chunk, within a chunk microbatch by microbatch (Megatron-LM get_schedule_table).
struct Table {
  std::uint32_t microbatches, group, chunks, devices, device;

  Pass entry(std::uint32_t e, PassKind kind) const {
    const std::uint32_t first = e / (group * chunks) * group;  // microbatch of this group
    const std::uint32_t size = std::min(group, microbatches - first);
    const std::uint32_t within = e - first * chunks;
    std::uint32_t chunk = within / size;
    if (kind != PassKind::forward) chunk = chunks - 1 - chunk;
    return {kind, static_cast<std::uint16_t>(chunk * devices + device), first + within % size};
  }
};

EntryOrder order_of(const Table& table) {
  return {.entries = table.microbatches * table.chunks,
          .regular = table.microbatches / table.group * table.group * table.chunks,
          .period = table.group * table.chunks,
          .microbatches_a_period = table.group,
          .pass = [table](std::uint32_t e, PassKind kind) { return table.entry(e, kind); }};
}

}  // namespace

Schedule in_groups(std::string name, const Parameters& parameters, std::uint32_t default_chunks,
                   PaceOf pace_of) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t chunks = parameters.chunks.value_or(default_chunks);
  const std::uint32_t group = parameters.group_size.value_or(default_group(microbatches, devices));
  check_group(name, microbatches, group, devices);
  Schedule schedule{.name = std::move(name),
                    .devices = devices,
                    .chunks = chunks,
                    .microbatches = microbatches,
                    .iterations = parameters.iterations,
                    .routes = Routes::looped(devices, chunks),
                    .programs = {}};
  for (std::uint32_t device = 0; device < devices; ++device) {
    // With one chunk the groups make no difference, and the order is the microbatches' own.
    const Table table{microbatches, chunks == 1 ? 1 : group, chunks, devices, device};
    const Place place{
        .before = device, .after = devices - 1 - device, .earlier_chunks = (chunks - 1) * group};
    Program program = one_by_one(order_of(table), pace_of(place));
    program.iterations = parameters.iterations;
    program.iteration_step = microbatches;
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

}  // namespace pipewright::schedules
