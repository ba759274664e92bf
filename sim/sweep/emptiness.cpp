#include "sim/sweep/emptiness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/value.hpp"
#include "sim/sweep/enumerator.hpp"

namespace pipewright::search {
namespace {

// Limit on the number of axis values that an enumeration tries; if it needs more, its question is
// left unanswered.
constexpr std::uint64_t max_tries = 3'000'000;

std::vector<bool> active_rules(const Domain& domain, const std::vector<std::size_t>& rules) {
  std::vector<bool> active(domain.rules.size());
  for (const std::size_t rule : rules) active[rule] = true;
  return active;
}

// Enumerates the combinations that meet the active rules. Returns whether it enumerated all. It
// does not if a rule divides by 0 because the rule that prevents this is not active.
bool enumerates_all(const Domain& domain, const std::vector<bool>& active,
                    const Enumerator::Visit& visit) {
  try {
    return Enumerator(domain, active).run(visit, max_tries);
  } catch (const config::Error&) {
    return false;
  }
}

// Returns whether it is proven that no combination meets all of these rules.
bool contradict(const Domain& domain, const std::vector<std::size_t>& rules) {
  return enumerates_all(domain, active_rules(domain, rules), [](auto&&...) { return false; });
}

std::string quoted_rule(const Domain& domain, std::size_t rule) {
  return fmt::format("`{}`", config::shown(domain.rules[rule].text));
}

using RuleSet = std::vector<std::size_t>;

// Returns minimal sets of rules that no combination meets together: all sets of one and two rules,
// or else a single larger one, which is found by leaving out one rule after another.
std::vector<RuleSet> contradictions(const Domain& domain) {
  const std::size_t count = domain.rules.size();
  std::vector<RuleSet> sets;
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < count; ++i)
    contradict(domain, {i}) ? sets.push_back({i}) : rest.push_back(i);
  for (std::size_t i = 0; i < rest.size(); ++i)
    for (std::size_t j = i + 1; j < rest.size(); ++j)
      if (contradict(domain, {rest[i], rest[j]})) sets.push_back({rest[i], rest[j]});
  if (!sets.empty()) return sets;
  for (std::size_t i = rest.size(); i-- > 0;) {
    RuleSet fewer = rest;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (contradict(domain, fewer)) rest = fewer;
  }
  return {rest};
}

// Returns how far a combination is from meeting a rule: the difference between the sides of its
// comparison, or between its number of GPUs and the nearest allowed one; 0 for any other rule.
double distance_to_rule(const Domain& domain, const Rule& rule, std::span<const double> names) {
  if (rule.program && !rule.distance) return 0;
  if (rule.distance) try {
      return std::abs((*rule.distance)(names));
    } catch (const ExpressionError&) {  // it divides by 0, as the rule that guards it is not met
      return std::numeric_limits<double>::max();
    }
  double gpus = static_cast<double>(domain.fixed_gpus);
  for (const char* size : {"tp", "cp", "pp", "dp"}) gpus *= names[*domain.names.find(size)];
  double nearest = std::numeric_limits<double>::infinity();
  for (const std::uint64_t allowed : domain.axes.gpus)
    nearest = std::min(nearest, std::abs(gpus - static_cast<double>(allowed)));
  return nearest;
}

// The candidates that would exist if one rule were left out.
struct Relaxation {
  std::uint64_t candidates = 0;
  bool is_complete = false;  // all candidates are counted
  double distance = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> nearest;  // value of each axis of the nearest candidate
};

Relaxation relax(const Domain& domain, std::size_t left_out) {
  std::vector<bool> active(domain.rules.size(), true);
  active[left_out] = false;
  Relaxation relaxed;
  std::vector<double> names = domain.names.values();
  const auto set = [&](std::size_t axis, std::uint32_t value) {
    for (const auto& [slot, number] : domain.open()[axis].values[value].names) names[slot] = number;
  };
  const auto consider = [&](std::span<const std::uint32_t> layout, std::uint32_t schedule) {
    set(domain.schedule_axis(), schedule);
    const double distance = distance_to_rule(domain, domain.rules[left_out], names);
    if (distance >= relaxed.distance) return;
    relaxed.distance = distance;
    relaxed.nearest.assign(layout.begin(), layout.end());
    relaxed.nearest.push_back(schedule);
  };
  relaxed.is_complete = enumerates_all(domain, active,
                                       [&](std::uint64_t, std::span<const std::uint32_t> layout,
                                           std::span<const std::uint32_t> schedules) {
                                         for (std::size_t axis = 0; axis < layout.size(); ++axis)
                                           set(axis, layout[axis]);
                                         for (const std::uint32_t schedule : schedules)
                                           consider(layout, schedule);
                                         relaxed.candidates += schedules.size();
                                         return true;
                                       });
  return relaxed;
}

std::string conflict_text(const Domain& domain, const RuleSet& rules) {
  std::vector<std::string> texts;
  for (const std::size_t rule : rules) texts.push_back(quoted_rule(domain, rule));
  if (rules.size() == 1) return fmt::format("no combination meets {}", texts.front());
  return fmt::format("no combination meets {}{}", rules.size() == 2 ? "both " : "all of ",
                     fmt::join(texts, " and "));
}

}  // namespace

std::string why_empty(const Domain& domain) {
  if (domain.rules.empty()) return "the sweep has no combinations";
  std::string text =
      fmt::format("no candidate: the rules exclude all {:.15g} combinations", domain.combinations);
  for (const RuleSet& rules : contradictions(domain)) text += "\n  " + conflict_text(domain, rules);
  bool single = false;
  for (std::size_t rule = 0; rule < domain.rules.size(); ++rule) {
    const Relaxation relaxed = relax(domain, rule);
    if (relaxed.candidates == 0) continue;
    single = true;
    text += fmt::format("\n  without {} {}{} candidate{}, such as {}", quoted_rule(domain, rule),
                        relaxed.is_complete ? "" : "more than ", relaxed.candidates,
                        relaxed.candidates == 1 ? " remains" : "s remain",
                        domain.shown(relaxed.nearest));
  }
  if (!single && domain.rules.size() > 1)
    text += "\n  leaving out any single rule brings no candidate back";
  return text;
}

}  // namespace pipewright::search
