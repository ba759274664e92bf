#include "sim/sweep/emptiness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/value.hpp"
#include "sim/sweep/walk.hpp"

namespace pipewright::search {
namespace {

// Values tried for one question; an answer that takes longer is not given.
constexpr std::uint64_t patience = 3'000'000;

std::vector<bool> only(const Domain& domain, const std::vector<std::size_t>& rules) {
  std::vector<bool> active(domain.rules.size());
  for (const std::size_t rule : rules) active[rule] = true;
  return active;
}

// Whether a walk by these rules comes to its end. One does not that a rule stops by dividing by 0
// where rules that are left out would keep it from that.
bool walks_to_end(const Domain& domain, const std::vector<bool>& active, const Walk::Visit& visit) {
  try {
    return Walk(domain, active).run(visit, patience);
  } catch (const config::Error&) {
    return false;
  }
}

// Whether it is sure that no combination meets all of these rules.
bool contradict(const Domain& domain, const std::vector<std::size_t>& rules) {
  return walks_to_end(domain, only(domain, rules), [](auto&&...) { return false; });
}

std::string quoted(const Domain& domain, std::size_t rule) {
  return fmt::format("`{}`", config::shown(domain.rules[rule].text));
}

using Rules = std::vector<std::size_t>;

// Sets of rules that contradict each other, of which none may be left out: those of one and two,
// or else what is left when no more can be left out of all.
std::vector<Rules> contradictions(const Domain& domain) {
  const std::size_t count = domain.rules.size();
  std::vector<Rules> found;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < count; ++i)
    contradict(domain, {i}) ? found.push_back({i}) : others.push_back(i);
  for (std::size_t i = 0; i < others.size(); ++i)
    for (std::size_t j = i + 1; j < others.size(); ++j)
      if (contradict(domain, {others[i], others[j]})) found.push_back({others[i], others[j]});
  if (!found.empty()) return found;
  for (std::size_t i = others.size(); i-- > 0;) {
    Rules fewer = others;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (contradict(domain, fewer)) others = fewer;
  }
  return {others};
}

// How far a candidate is from what a rule asks for.
double miss(const Domain& domain, const Rule& rule, std::span<const double> names) {
  if (rule.program && !rule.miss) return 0;
  if (rule.miss) try {
      return std::abs((*rule.miss)(names));
    } catch (const ExpressionError&) {  // it divides by 0 where others keep it from
      return std::numeric_limits<double>::max();
    }
  double gpus = static_cast<double>(domain.fixed_gpus);
  for (const char* size : {"tp", "cp", "pp", "dp"}) gpus *= names[*domain.names.find(size)];
  double nearest = std::numeric_limits<double>::infinity();
  for (const std::uint64_t allowed : domain.axes.gpus)
    nearest = std::min(nearest, std::abs(gpus - static_cast<double>(allowed)));
  return nearest;
}

// What comes back when one rule is left out.
struct Relaxed {
  std::uint64_t candidates = 0;
  bool all = false;  // counted to the end
  double miss = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> nearest;  // digits of all axes
};

Relaxed without(const Domain& domain, std::size_t left_out) {
  std::vector<bool> active(domain.rules.size(), true);
  active[left_out] = false;
  Relaxed relaxed;
  std::vector<double> names = domain.names.values();
  const auto set = [&](std::size_t axis, std::uint32_t value) {
    for (const auto& [slot, number] : domain.open()[axis].values[value].names) names[slot] = number;
  };
  const auto consider = [&](std::span<const std::uint32_t> layout, std::uint32_t schedule) {
    set(domain.schedule_axis(), schedule);
    const double far = miss(domain, domain.rules[left_out], names);
    if (far >= relaxed.miss) return;
    relaxed.miss = far;
    relaxed.nearest.assign(layout.begin(), layout.end());
    relaxed.nearest.push_back(schedule);
  };
  relaxed.all = walks_to_end(domain, active,
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

std::string conflict_text(const Domain& domain, const Rules& rules) {
  std::vector<std::string> texts;
  for (const std::size_t rule : rules) texts.push_back(quoted(domain, rule));
  if (rules.size() == 1) return fmt::format("no combination meets {}", texts.front());
  return fmt::format("no combination meets {}{}", rules.size() == 2 ? "both " : "all of ",
                     fmt::join(texts, " and "));
}

}  // namespace

std::string why_empty(const Domain& domain) {
  if (domain.rules.empty()) return "the sweep has no combinations";
  std::string text = fmt::format("none of {:.15g} combinations is left", domain.combinations);
  for (const Rules& rules : contradictions(domain)) text += "\n  " + conflict_text(domain, rules);
  bool single = false;
  for (std::size_t rule = 0; rule < domain.rules.size(); ++rule) {
    const Relaxed relaxed = without(domain, rule);
    if (relaxed.candidates == 0) continue;
    single = true;
    text += fmt::format("\n  without {} {}{} candidate{}, such as {}", quoted(domain, rule),
                        relaxed.all ? "" : "more than ", relaxed.candidates,
                        relaxed.candidates == 1 ? " remains" : "s remain",
                        domain.shown(relaxed.nearest));
  }
  if (!single && domain.rules.size() > 1)
    text += "\n  leaving out a single one of the rules brings none back";
  return text;
}

}  // namespace pipewright::search
