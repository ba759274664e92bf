#include "sim/sweep/twins.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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

bool says(const SweepAxes& axes, std::string_view key) {
  if (find_axis(axes.open, key) != nullptr || find_axis(axes.fixed, key) != nullptr) return true;
  const auto given = scalars(axes.scenario, "");
  return std::ranges::any_of(given, [&](const Scalar& one) { return one.key == key; });
}

// What ranks do among each other says nothing of one rank. The least is kept, which the most
// schedules can have.
void add_idle(const SweepAxes& axes, std::string_view key, std::string_view name,
              std::string_view where_not, std::vector<TwinRule>& rules) {
  const SweepAxis* const axis = find_axis(axes.open, key);
  if (axis == nullptr || axis->info.values.size() < 2) return;
  const std::string text =
      fmt::format("{} or {} == {}", where_not, name, std::ranges::min(axis->info.values));
  rules.push_back({key, text, text});
}

// On two routes at once a stage is on two devices, as copies of one another; files may say so too.
bool may_copy_stages(const std::string& schedule) {
  constexpr std::uint32_t devices = 4;
  const auto entry = std::ranges::find(schedules::catalog(), schedule, &schedules::Entry::name);
  if (entry == schedules::catalog().end()) return schedule != config::searched;
  return entry->placement({.devices = devices, .microbatches = devices}).count() > 1;
}

// Where ZeRO shards something: over replicas, over the ranks of a tensor-parallel group that have
// copies of experts, over copies of a stage.
std::string shards(const SweepAxes& axes) {
  std::string where = "dp * cp > 1";
  if (std::ranges::any_of(axes.models, [](const auto& model) { return model.experts.has_value(); }))
    where += " or experts > 0";
  std::set<std::string> names;
  for (const AxisValue& value : axes.open.back().values) names.insert(schedule_name(value.shown));
  for (const std::string& name : names)
    if (may_copy_stages(name)) where += fmt::format(" or schedule == '{}'", name);
  return where;
}

// A schedule as it is on one device; none where that depends on times, or where a choice beside
// the number of chunks is made.
std::optional<schedules::Schedule> alone(const Value& value, std::uint32_t microbatches) {
  const std::string name = schedule_name(value);
  const auto entry = std::ranges::find(schedules::catalog(), name, &schedules::Entry::name);
  if (entry == schedules::catalog().end() || entry->plans) return std::nullopt;
  schedules::Parameters parameters{.devices = 1, .microbatches = microbatches};
  for (const auto& [key, origin, given] : value.entries) {
    if (key == "name") continue;
    const char* const end = given.text.data() + given.text.size();
    std::uint32_t& chunks = parameters.chunks.emplace();
    if (key != "chunks" || std::from_chars(given.text.data(), end, chunks).ptr != end)
      return std::nullopt;
  }
  try {
    return entry->make(parameters);
  } catch (const schedules::Error&) {
    return std::nullopt;  // it needs several
  }
}

bool is_same(const schedules::Schedule& one, const schedules::Schedule& other) {
  return one.routes == other.routes && one.slices == other.slices &&
         one.weight_versions == other.weight_versions && one.recomputed == other.recomputed &&
         schedules::passes_of(one.programs.front()) == schedules::passes_of(other.programs.front());
}

// Families differ by how far devices run ahead of each other, and so not on one.
void add_schedules(const SweepAxes& axes, std::vector<TwinRule>& rules) {
  constexpr std::array<std::uint32_t, 2> some{4, 7};  // microbatches
  const std::vector<AxisValue>& values = axes.open.back().values;
  using OnOne = std::vector<schedules::Schedule>;
  std::vector<OnOne> known;
  std::vector<std::string> others;
  for (const AxisValue& value : values) {
    OnOne own;
    for (const std::uint32_t microbatches : some)
      if (auto made = alone(value.shown, microbatches)) own.push_back(std::move(*made));
    if (own.size() < some.size()) continue;
    const bool is_twin = std::ranges::any_of(
        known, [&](const OnOne& one) { return std::ranges::equal(one, own, is_same); });
    if (is_twin)
      others.push_back(fmt::format("(schedule != '{}' or chunks != {})", schedule_name(value.shown),
                                   own.front().chunks));
    else
      known.push_back(std::move(own));
  }
  if (!others.empty())
    rules.push_back({"schedule", "pp > 1 or schedule is the first of those alike on one device",
                     fmt::format("pp > 1 or {}", fmt::join(others, " and "))});
}

}  // namespace

std::vector<TwinRule> twin_rules(const SweepAxes& axes) {
  std::vector<TwinRule> rules;
  if (!says(axes, "parallel.shard")) add_idle(axes, "parallel.zero", "zero", shards(axes), rules);
  add_idle(axes, "parallel.sp", "sp", "tp > 1", rules);
  add_schedules(axes, rules);
  return rules;
}

}  // namespace pipewright::search
