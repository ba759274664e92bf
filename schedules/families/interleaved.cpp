#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedules/families/families.hpp"

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

void check_group(std::uint32_t microbatches, std::uint32_t group, std::uint32_t devices) {
  if (group == default_group(microbatches, devices) || fits(microbatches, group, devices)) return;
  const char* why = group < devices        ? "a group smaller than the pipeline deadlocks"
                    : group > microbatches ? "a group cannot be larger than the iteration"
                                           : "the last group is smaller than the pipeline";
  throw Error(
      fmt::format("interleaved-1f1b: group size {} with {} devices and {} microbatches: {}; "
                  "group size {} works",
                  group, devices, microbatches, why, default_group(microbatches, devices)));
}

// Entry e of the table that all devices read: groups of g microbatches; within a group chunk by
// chunk, within a chunk microbatch by microbatch (Megatron-LM get_schedule_table).
struct Table {
  std::uint32_t microbatches, group, chunks, devices, device;

  std::uint32_t entries() const { return microbatches * chunks; }
  std::uint32_t entries_in_full_groups() const { return microbatches / group * group * chunks; }
  Pass entry(std::uint32_t e, PassKind kind) const {
    const std::uint32_t first = e / (group * chunks) * group;  // microbatch of this group
    const std::uint32_t size = std::min(group, microbatches - first);
    const std::uint32_t within = e - first * chunks;
    std::uint32_t chunk = within / size;
    if (kind == PassKind::backward) chunk = chunks - 1 - chunk;
    return {kind, static_cast<std::uint16_t>(chunk * devices + device), first + within % size};
  }
};

Program one_device(const Table& table) {
  const std::uint32_t entries = table.entries();
  const std::uint32_t period = table.group * table.chunks;
  const std::uint32_t warmup =
      std::min(2 * (table.devices - 1 - table.device) + (table.chunks - 1) * table.group, entries);

  const auto pairs = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<Pass> passes;
    for (std::uint32_t k = from; k < to; ++k) {
      passes.push_back(table.entry(warmup + k, PassKind::forward));
      passes.push_back(table.entry(k, PassKind::backward));
    }
    return passes;
  };
  std::vector<Pass> ahead;
  for (std::uint32_t e = 0; e < warmup; ++e) ahead.push_back(table.entry(e, PassKind::forward));
  std::vector<Pass> behind;
  for (std::uint32_t e = entries - warmup; e < entries; ++e)
    behind.push_back(table.entry(e, PassKind::backward));

  // The pairs repeat with every group for as long as their forwards stay in full groups.
  const std::uint32_t full = table.entries_in_full_groups();
  const std::uint32_t rounds = full > warmup ? (full - warmup) / period : 0;
  Program program;
  program.repeat(1, 0, std::move(ahead));
  if (rounds > 0) program.repeat(rounds, static_cast<std::int32_t>(table.group), pairs(0, period));
  program.repeat(1, 0, pairs(rounds * period, entries - warmup));
  program.repeat(1, 0, std::move(behind));
  return program;
}

}  // namespace

// Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2; Megatron-LM
// schedules.py). Bubble (p-1)(F+B)/v; in flight ((v-1)g + 2(p-1-r) + 1)/v on device r.
Schedule interleaved_one_f_one_b(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t chunks = parameters.chunks.value_or(2);
  const std::uint32_t group = parameters.group_size.value_or(default_group(microbatches, devices));
  check_group(microbatches, group, devices);
  Schedule schedule{.name = "interleaved-1f1b",
                    .devices = devices,
                    .chunks = chunks,
                    .microbatches = microbatches,
                    .iterations = parameters.iterations,
                    .routes = Routes::looped(devices, chunks),
                    .programs = {}};
  for (std::uint32_t device = 0; device < devices; ++device) {
    Program program = one_device({microbatches, group, chunks, devices, device});
    program.iterations = parameters.iterations;
    program.iteration_step = microbatches;
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

}  // namespace pipewright::schedules
