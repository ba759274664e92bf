#include "sim/sweep/equivalents.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/sweep/auto_values.hpp"

namespace pipewright::search {
namespace {

using config::Value;

bool has_key(const SweepAxes& axes, std::string_view key) {
  if (find_axis(axes.open, key) != nullptr || find_axis(axes.fixed, key) != nullptr) return true;
  const auto fixed = scalars(axes.scenario, "");
  return std::ranges::any_of(fixed, [&](const Scalar& scalar) { return scalar.key == key; });
}

// Adds a rule for a setting that has no effect in a group of one rank: in such groups it must have
// its least value, which most schedules support. `condition` is true where the group has several
// ranks.
void add_group_setting(const SweepAxes& axes, std::string_view key, std::string_view name,
                       std::string_view condition, std::vector<EquivalenceRule>& rules) {
  const SweepAxis* const axis = find_axis(axes.open, key);
  if (axis == nullptr || axis->info.values.size() < 2) return;
  const std::string text =
      fmt::format("{} or {} == {}", condition, name, std::ranges::min(axis->info.values));
  rules.push_back({key, text, text});
}

// Returns whether a schedule may put copies of a stage on two devices. This is also possible for a
// schedule from a file.
bool may_copy_stages(const std::string& schedule) {
  constexpr std::uint32_t devices = 4;
  const auto entry = std::ranges::find(schedules::catalog(), schedule, &schedules::Entry::name);
  if (entry == schedules::catalog().end()) return schedule != config::searched;
  return entry->placement({.devices = devices, .microbatches = devices}).count() > 1;
}

// Returns the condition under which ZeRO has several ranks to shard over: replicas, the ranks of a
// tensor-parallel group that have copies of experts, or copies of a stage.
std::string zero_condition(const SweepAxes& axes) {
  std::string condition = "dp * cp > 1";
  if (std::ranges::any_of(axes.models, [](const auto& model) { return model.experts.has_value(); }))
    condition += " or experts > 0";
  std::set<std::string> names;
  for (const AxisValue& value : axes.open.back().values) names.insert(schedule_name(value.shown));
  for (const std::string& name : names)
    if (may_copy_stages(name)) condition += fmt::format(" or schedule == '{}'", name);
  return condition;
}

// A schedule of the catalog whose order of passes on one device is determined by its name and its
// number of chunks alone: it depends on no times and no other settings.
struct ComparableSchedule {
  const schedules::Entry* entry = nullptr;
  schedules::Parameters parameters;
  std::uint32_t stages = 0;  // on one device
};

std::optional<ComparableSchedule> comparable_schedule(const Value& value) {
  const auto entry =
      std::ranges::find(schedules::catalog(), schedule_name(value), &schedules::Entry::name);
  if (entry == schedules::catalog().end() || entry->plans) return std::nullopt;
  ComparableSchedule schedule{.entry = &*entry, .parameters = parameters_of(value)};
  for (const config::Entry& choice : value.entries)
    if (choice.key != "name" && (choice.key != "chunks" || !schedule.parameters.chunks))
      return std::nullopt;
  const bool takes_chunks = entry->takes(&schedules::Parameters::chunks);
  if (takes_chunks && schedule.parameters.chunks) {
    schedule.stages = *schedule.parameters.chunks;
    return schedule;
  }
  try {
    schedule.stages = entry->placement(schedule.parameters).stages();
    return schedule;
  } catch (const schedules::Error&) {
    return std::nullopt;  // the family needs several devices
  }
}

// Numbers of microbatches with which schedules are compared: two schedules that are equal for both
// are taken to be equal for all.
constexpr std::array<std::uint32_t, 2> compared_microbatches{4, 7};

// Makes the schedule on one device for each of compared_microbatches. Returns an empty list if the
// schedule's family needs several devices.
std::vector<schedules::Schedule> one_device_schedules(const ComparableSchedule& schedule) {
  std::vector<schedules::Schedule> made;
  schedules::Parameters parameters = schedule.parameters;
  for (const std::uint32_t microbatches : compared_microbatches) {
    parameters.microbatches = microbatches;
    try {
      made.push_back(schedule.entry->make(parameters));
    } catch (const schedules::Error&) {
      return {};
    }
  }
  return made;
}

bool is_same_schedule(const schedules::Schedule& lhs, const schedules::Schedule& rhs) {
  return lhs.routes == rhs.routes && lhs.slices == rhs.slices && lhs.braids == rhs.braids &&
         lhs.weight_versions == rhs.weight_versions && lhs.recomputed == rhs.recomputed &&
         schedules::passes_of(lhs.programs.front()) == schedules::passes_of(rhs.programs.front());
}

// Adds a rule that leaves one of the schedules that are the same on a single device. Families
// differ by how far devices run ahead of each other, so many of them are. Only schedules with
// equally many stages can be equal, and only these are made and compared, until their passes exceed
// a number that takes a fraction of a second.
void merge_schedules_on_one_device(const SweepAxes& axes, std::vector<EquivalenceRule>& rules) {
  constexpr std::uint64_t max_passes = std::uint64_t{1} << 21U;
  std::vector<ComparableSchedule> comparable;
  std::map<std::uint32_t, std::size_t> count_of_stages;
  for (const AxisValue& value : axes.open.back().values)
    if (const auto schedule = comparable_schedule(value.shown)) {
      comparable.push_back(*schedule);
      ++count_of_stages[schedule->stages];
    }
  // Software refuses other schedules on one device, so the plain ones stay.
  std::ranges::stable_partition(comparable, [](const ComparableSchedule& schedule) {
    return schedules::is_plain_on_one_device(schedule.entry->name);
  });
  std::uint64_t passes = 0;
  std::map<std::uint32_t, std::vector<std::vector<schedules::Schedule>>> distinct;  // by stages
  std::vector<std::string> conditions;
  for (const ComparableSchedule& schedule : comparable) {
    if (count_of_stages[schedule.stages] == 1) continue;
    for (const std::uint32_t microbatches : compared_microbatches)
      passes += std::uint64_t{2} * schedule.stages * microbatches;
    if (passes > max_passes) break;
    std::vector<schedules::Schedule> made = one_device_schedules(schedule);
    if (made.empty()) continue;
    auto& earlier = distinct[schedule.stages];
    const bool is_equivalent = std::ranges::any_of(earlier, [&](const auto& schedules) {
      return std::ranges::equal(schedules, made, is_same_schedule);
    });
    if (is_equivalent)
      conditions.push_back(fmt::format("(schedule != '{}' or chunks != {})", schedule.entry->name,
                                       made.front().chunks));
    else
      earlier.push_back(std::move(made));
  }
  if (!conditions.empty())
    rules.push_back({"schedule", "pp > 1 or schedule differs from the others on one device",
                     fmt::format("pp > 1 or {}", fmt::join(conditions, " and "))});
}

}  // namespace

std::vector<EquivalenceRule> equivalence_rules(const SweepAxes& axes) {
  std::vector<EquivalenceRule> rules;
  if (!has_key(axes, "parallel.shard"))
    add_group_setting(axes, "parallel.zero", "zero", zero_condition(axes), rules);
  add_group_setting(axes, "parallel.sp", "sp", "tp > 1", rules);
  merge_schedules_on_one_device(axes, rules);
  return rules;
}

}  // namespace pipewright::search
