#include "sim/search/reuse.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/config/mix.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/sweep/scenario_tree.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;
using analysis::SearchAxis;
using config::Value;

// Of a set of keys and their values, in any order: equal ones are the same set, but for a chance of
// some 2^-100.
struct Print {
  std::uint64_t one = 0;
  std::uint64_t other = 0;

  Print& operator+=(const Print& more) {
    one += more.one;
    other += more.other;
    return *this;
  }
  bool operator==(const Print&) const = default;
};

struct HashOfPrint {
  std::size_t operator()(const Print& print) const { return print.one; }
};

Print print_of(std::string_view key, std::string_view value) {
  Print print{.one = 0x9e3779b97f4a7c15, .other = 0xc2b2ae3d27d4eb4f};
  const auto add = [&](char c) {
    print.one = mix(print.one ^ static_cast<unsigned char>(c));
    print.other = mix(print.other + static_cast<unsigned char>(c));
  };
  for (const char c : key) add(c);
  add('=');
  for (const char c : value) add(c);
  return print;
}

// What a key's value says. One that everybody has who says nothing is as good as none.
Print said(const std::string& key, const std::string& value) {
  const auto row = std::ranges::find(scenario_rows(), key, &config::KeyRow::name);
  const bool is_default =
      row != scenario_rows().end() && !value.empty() && row->info.default_value == value;
  return is_default ? Print{} : print_of(key, value);
}

// Keys with texts, and lists as a line.
void leaves(const Value& value, const std::string& key, std::map<std::string, std::string>& all) {
  if (value.kind != Value::Kind::map) {
    all[key] = line_of(value);
    return;
  }
  for (const config::Entry& entry : value.entries)
    leaves(entry.value, canonical_key(key.empty() ? entry.key : key + "." + entry.key), all);
}

// The candidates of a sweep, told by their scenarios.
class Prints {
 public:
  Prints(const std::string& sweep, const std::vector<SearchAxis>& axes) {
    std::map<std::string, std::string> fixed;
    leaves(config::read_yaml_text(sweep, "the earlier sweep"), "", fixed);
    for (const SearchAxis& axis : axes) {
      // An axis may stand for a map, as that of schedules does.
      std::erase_if(fixed, [&](const auto& leaf) {
        return leaf.first == axis.key || leaf.first.starts_with(axis.key + ".");
      });
      std::vector<Print>& prints = values_.emplace_back();
      for (const std::string& value : axis.values) prints.push_back(said(axis.key, value));
    }
    for (const auto& [key, value] : fixed) {
      // All that says how to search, and not what; but for what does not fit.
      if (key.starts_with("search.") && key != "search.memory") continue;
      fixed_ += said(key, value);
    }
  }

  Print of(const std::vector<std::uint32_t>& digits) const {
    Print print = fixed_;
    for (std::size_t axis = 0; axis < digits.size(); ++axis) print += values_[axis][digits[axis]];
    return print;
  }

 private:
  Print fixed_;
  std::vector<std::vector<Print>> values_;  // by axis
};

// Where weeks count, rows have what these weeks lose, and elsewhere nothing of the kind.
bool tell_the_same(const analysis::Objective& one, const analysis::Objective& other) {
  const auto weeks = [](const analysis::Objective& objective) {
    return objective.kind == analysis::Objective::Kind::tokens_a_day ? objective.seeds : 0;
  };
  return weeks(one) == weeks(other);
}

}  // namespace

std::vector<CandidateRow> reuse(const analysis::SearchRun& earlier, const Space& space,
                                const std::function<bool()>& stop) {
  if (!tell_the_same(earlier.objective, space.sweep().objective)) return {};
  std::unordered_map<Print, const CandidateRow*, HashOfPrint> known;
  const Prints old(earlier.sweep, earlier.axes);
  for (const CandidateRow& row : earlier.rows)
    if (row.outcome != Outcome::failed)
      known.emplace(old.of(analysis::choices(earlier.axes, row.candidate)), &row);
  const Prints prints(space.sweep().text, space.axes());
  std::vector<CandidateRow> rows;
  const auto take = [&](std::uint64_t layout, std::uint64_t candidate) {
    const auto found = known.find(prints.of(analysis::choices(space.axes(), candidate)));
    if (found == known.end()) return;
    CandidateRow& row = rows.emplace_back(*found->second);
    row.candidate = candidate;
    row.group = space.group(layout);
    // Results do not tell what the bounds of others rest on.
    if (row.outcome == Outcome::open || row.outcome == Outcome::bounded_away) {
      row.outcome = Outcome::open;
      row.basis = analysis::Basis::passes;
    }
  };
  space.for_each_layout(
      [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
        for (const std::uint32_t schedule : schedules)
          if (space.is_of_shard(layout)) take(layout, layout * space.schedules() + schedule);
        return true;
      },
      stop);
  return rows;
}

}  // namespace pipewright::search
