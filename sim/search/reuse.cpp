#include "sim/search/reuse.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/sweep/scenario_tree.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;
using analysis::SearchAxis;
using config::Value;

using KeyValues = std::map<std::string, std::string>;

// Adds each key of a scenario, such as "parallel.tp", with its value as text; a list is one value,
// on one line.
void add_leaves(const Value& value, const std::string& key, KeyValues& leaves) {
  if (value.kind != Value::Kind::map) {
    leaves[key] = line_of(value);
    return;
  }
  for (const config::Entry& entry : value.entries)
    add_leaves(entry.value, canonical_key(key.empty() ? entry.key : key + "." + entry.key), leaves);
}

bool is_default(const std::string& key, const std::string& value) {
  const auto row = std::ranges::find(scenario_rows(), key, &config::KeyRow::name);
  return row != scenario_rows().end() && !value.empty() && row->info.default_value == value;
}

// The keys of a sweep's scenario: those of its axes, and those with the same value for all
// candidates.
class SweepKeys {
 public:
  SweepKeys(const std::string& sweep, const std::vector<SearchAxis>& axes) : axes_(axes) {
    add_leaves(config::read_yaml_text(sweep, "the earlier sweep"), "", fixed_);
    for (const SearchAxis& axis : axes) {
      // An axis whose values are maps, such as that of schedules, replaces all keys of the map.
      std::erase_if(fixed_, [&](const auto& leaf) {
        return leaf.first == axis.key || leaf.first.starts_with(axis.key + ".");
      });
      names_.push_back(unique_name(axis.key));
    }
    // The keys of the section `search` do not change the row of a candidate, except for
    // search.memory and search.rules.
    std::erase_if(fixed_, [](const auto& leaf) {
      return leaf.first.starts_with("search.") && leaf.first != "search.memory" &&
             leaf.first != "search.rules";
    });
  }

  std::size_t count() const { return axes_.size(); }
  const std::string& key(std::size_t axis) const { return axes_[axis].key; }
  const std::string& name(std::size_t axis) const { return names_[axis]; }
  const std::vector<std::string>& values(std::size_t axis) const { return axes_[axis].values; }
  const KeyValues& fixed() const { return fixed_; }

  std::optional<std::size_t> axis_named(const std::string& name) const {
    const auto it = std::ranges::find(names_, name);
    return it == names_.end() ? std::nullopt : std::optional(it - names_.begin());
  }

  // Returns whether a key has this value for all candidates. A key that the sweep does not contain
  // has its default.
  bool fixes(const std::string& key, const std::string& value) const {
    const auto it = fixed_.find(key);
    return it == fixed_.end() ? is_default(key, value) : it->second == value;
  }

 private:
  // Several axes may have the same key if it is inside a list of maps; the later ones get a number
  // appended, in their order.
  std::string unique_name(const std::string& key) const {
    const auto earlier = std::count_if(axes_.begin(), axes_.begin() + std::ssize(names_),
                                       [&](const SearchAxis& axis) { return axis.key == key; });
    return earlier == 0 ? key : fmt::format("{}#{}", key, earlier);
  }

  const std::vector<SearchAxis>& axes_;
  std::vector<std::string> names_;
  KeyValues fixed_;
};

// Translates a candidate of an earlier sweep, given as its value on each axis, into the candidate
// of another sweep that has the same scenario.
class Translation {
 public:
  Translation(const SweepKeys& from, const SweepKeys& to) : choices_(to.count(), 0) {
    is_possible_ = agree_on_fixed_keys(from, to);
    for (std::size_t axis = 0; axis < to.count(); ++axis)
      if (!from.axis_named(to.name(axis))) choose_fixed(from, to, axis);
    for (std::size_t axis = 0; axis < from.count(); ++axis) add_axis(from, axis, to);
  }

  // Returns the value on each axis of the other sweep; nothing if none of its combinations has the
  // same scenario.
  std::optional<std::vector<std::uint32_t>> translate(const std::vector<std::uint32_t>& from) {
    if (!is_possible_) return std::nullopt;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      const auto choice = axes_[axis].choices.find(from[axis]);
      if (choice == axes_[axis].choices.end()) return std::nullopt;
      if (axes_[axis].target) choices_[*axes_[axis].target] = choice->second;
    }
    return choices_;
  }

 private:
  struct Axis {
    std::optional<std::size_t> target;                         // axis of the other sweep
    std::unordered_map<std::uint32_t, std::uint32_t> choices;  // values that the other sweep has
  };

  static bool agree_on_fixed_keys(const SweepKeys& from, const SweepKeys& to) {
    const auto agrees = [](const SweepKeys& keys) {
      return [&keys](const auto& leaf) {
        return keys.axis_named(leaf.first) || keys.fixes(leaf.first, leaf.second);
      };
    };
    const auto is_written_default = [](const auto& leaf) {
      return is_default(leaf.first, leaf.second);
    };
    return std::ranges::all_of(from.fixed(), agrees(to)) &&
           std::ranges::all_of(to.fixed(), [&](const auto& leaf) {
             return from.fixed().contains(leaf.first) || from.axis_named(leaf.first) ||
                    is_written_default(leaf);
           });
  }

  // Handles an axis that the earlier sweep does not have: chooses the value that all candidates of
  // the earlier sweep have.
  void choose_fixed(const SweepKeys& from, const SweepKeys& to, std::size_t axis) {
    const std::vector<std::string>& values = to.values(axis);
    const auto it = std::ranges::find_if(
        values, [&](const std::string& value) { return from.fixes(to.key(axis), value); });
    if (it == values.end())
      is_possible_ = false;
    else
      choices_[axis] = static_cast<std::uint32_t>(it - values.begin());
  }

  void add_axis(const SweepKeys& from, std::size_t axis, const SweepKeys& to) {
    Axis& added = axes_.emplace_back();
    added.target = to.axis_named(from.name(axis));
    std::unordered_map<std::string, std::uint32_t> choice_of;
    if (added.target) {
      const std::vector<std::string>& targets = to.values(*added.target);
      for (std::uint32_t choice = 0; choice < targets.size(); ++choice)
        choice_of.emplace(targets[choice], choice);
    }
    const std::vector<std::string>& values = from.values(axis);
    for (std::uint32_t choice = 0; choice < values.size(); ++choice) {
      const auto it = choice_of.find(values[choice]);
      if (it != choice_of.end())
        added.choices.emplace(choice, it->second);
      else if (!added.target && to.fixes(from.key(axis), values[choice]))
        added.choices.emplace(choice, 0);
    }
  }

  bool is_possible_ = true;
  std::vector<Axis> axes_;              // of the earlier sweep
  std::vector<std::uint32_t> choices_;  // of the other sweep; those that do not change stay
};

// Returns whether rows of two objectives hold the same figures. Only with the objective
// tokens_a_day do rows include the losses of a goodput run, which depend on its number of seeds.
bool have_same_figures(const analysis::Objective& lhs, const analysis::Objective& rhs) {
  const auto goodput_seeds = [](const analysis::Objective& objective) {
    return objective.kind == analysis::Objective::Kind::tokens_a_day ? objective.seeds : 0;
  };
  return goodput_seeds(lhs) == goodput_seeds(rhs);
}

}  // namespace

std::vector<CandidateRow> reuse(const analysis::SearchRun& earlier, const Space& space) {
  if (!have_same_figures(earlier.objective, space.sweep().objective)) return {};
  const SweepKeys from(earlier.sweep, earlier.axes);
  const SweepKeys to(space.sweep().text, space.axes());
  Translation translation(from, to);
  std::vector<CandidateRow> rows;
  for (const CandidateRow& row : earlier.rows) {
    if (row.outcome == Outcome::failed) continue;
    const auto choices = translation.translate(analysis::choices(earlier.axes, row.candidate));
    if (!choices) continue;
    const std::uint64_t candidate = space.index_of(*choices);
    const std::uint64_t layout = candidate / space.schedules();
    if (!space.is_of_shard(layout) || !space.contains(candidate)) continue;
    CandidateRow& reused = rows.emplace_back(row);
    reused.candidate = candidate;
    reused.group = space.group(layout);
    // Stored results do not say how close a bound is, so it counts as the least accurate kind.
    if (reused.outcome == Outcome::open || reused.outcome == Outcome::bounded_away) {
      reused.outcome = Outcome::open;
      reused.basis = analysis::Basis::passes;
    }
  }
  std::ranges::sort(rows, {}, &CandidateRow::candidate);
  return rows;
}

}  // namespace pipewright::search
