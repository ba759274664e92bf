#include "analysis/report/search/findings.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "analysis/report/search/front.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_size(std::string_view text) {  // "GiB" and the like
  return text.size() >= 3 && std::string_view("KMGTPE").find(text[0]) != std::string_view::npos &&
         text.substr(1, 2) == "iB";
}

// What a note says but for its numbers and sizes, which become '#'; of a list at its end, which
// breaks something down, only the first.
std::string shape_of(const std::string& note) {
  std::string shape;
  for (std::size_t i = 0; i < note.size(); ++i) {
    if (is_size(std::string_view(note).substr(i))) {
      i += 2;
      continue;
    }
    if (!is_digit(note[i])) {
      shape += note[i];
      continue;
    }
    shape += '#';
    while (i + 1 < note.size() &&
           (is_digit(note[i + 1]) ||
            (note[i + 1] == '.' && i + 2 < note.size() && is_digit(note[i + 2]))))
      ++i;
  }
  const std::size_t colon = shape.rfind(": ");
  return colon == std::string::npos ? shape : shape.substr(0, shape.find_first_of(",;", colon));
}

std::vector<Reason> reasons(const SearchRun& run, Outcome outcome) {
  std::map<std::string, Reason> by_shape;
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (run.rows[i].outcome == outcome)
      ++by_shape.try_emplace(shape_of(run.rows[i].note), Reason{0, i}).first->second.rows;
  std::vector<Reason> found;
  for (const auto& [shape, reason] : by_shape) found.push_back(reason);
  std::ranges::sort(found, [](const Reason& a, const Reason& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.example < b.example;
  });
  return found;
}

double overshoot(const CandidateRow& row) {
  return row.capacity_bytes == 0
             ? INFINITY
             : static_cast<double>(row.peak_bytes) / static_cast<double>(row.capacity_bytes);
}

bool has_bound_only(const CandidateRow& row) {
  return row.bound_s > 0 && (row.outcome == Outcome::open || row.outcome == Outcome::bounded_away ||
                             row.outcome == Outcome::failed);
}

// A search of the whole sweep that came to its end has looked at all of them.
double not_looked_at(const SearchRun& run) {
  if (run.finished && run.shard.count == 1) return 0;
  double left = run.combinations - static_cast<double>(run.rows.size());
  for (const Excluded& one : run.excluded) left -= static_cast<double>(one.combinations);
  return std::max(0.0, left);
}

constexpr double rounding = 1e-12;      // of an iteration
constexpr double least_shown = 0.0005;  // rounds to 0.1 %

}  // namespace

double seconds_of(const CandidateRow& row) {
  return row.outcome == Outcome::simulated ? row.time_s : row.bound_s;
}

double cost_of(const SearchRun& run, const CandidateRow& row) {
  return cost(run.objective, row.work, seconds_of(row), row.peak_bytes);
}

double behind(const Objective& objective, double cost, double best) {
  if (!(best > 0) || cost == best) return 0;
  const bool rate = objective.kind == Objective::Kind::throughput ||
                    objective.kind == Objective::Kind::mfu ||
                    objective.kind == Objective::Kind::tokens_a_day;
  return rate ? 1 - best / cost : cost / best - 1;
}

Findings find(const SearchRun& run) {
  Findings found;
  found.ranked = ranking(run);
  found.best_of_group.resize(run.groups.size());
  for (const std::size_t i : found.ranked) {
    const CandidateRow& row = run.rows[i];
    if (!std::isfinite(cost_of(run, row))) break;
    if (!found.best) found.best = i;
    if (row.group < run.groups.size() && !found.best_of_group[row.group])
      found.best_of_group[row.group] = i;
  }
  found.fronts.resize(run.groups.size());
  for (std::uint32_t group = 0; run.fronts && group < run.groups.size(); ++group)
    found.fronts[group] = pareto_front(run, group);
  found.not_looked_at = not_looked_at(run);
  const double best_cost = found.best ? cost_of(run, run.rows[*found.best]) : INFINITY;
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const CandidateRow& row = run.rows[i];
    ++found.outcomes[static_cast<std::size_t>(row.outcome)];
    if (row.outcome == Outcome::does_not_fit &&
        (!found.nearest || overshoot(row) < overshoot(run.rows[*found.nearest])))
      found.nearest = i;
    if (row.outcome == Outcome::failed && cost_of(run, row) < best_cost)
      found.failed_hopes.push_back(i);
  }
  found.illegal = reasons(run, Outcome::illegal);
  found.does_not_fit = reasons(run, Outcome::does_not_fit);
  found.failed = reasons(run, Outcome::failed);
  return found;
}

namespace {

// Of so many values, of which `value_of` a row is one, or none.
using ValueOf = std::function<std::optional<std::size_t>(const CandidateRow&)>;
std::vector<BestOf> best_of_each(const SearchRun& run, std::size_t values,
                                 const ValueOf& value_of) {
  std::vector<BestOf> best(values);
  for (std::uint32_t value = 0; value < best.size(); ++value) best[value].value = value;
  const auto better = [&](std::size_t a, std::optional<std::size_t> b) {
    return !b || cost_of(run, run.rows[a]) < cost_of(run, run.rows[*b]);
  };
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const CandidateRow& row = run.rows[i];
    const std::optional<std::size_t> value = value_of(row);
    if (!value) continue;
    BestOf& of = best[*value];
    ++of.outcomes[static_cast<std::size_t>(row.outcome)];
    if (has_bound_only(row) && better(i, of.bound)) of.bound = i;
  }
  for (const std::size_t i : ranking(run)) {
    const std::optional<std::size_t> value = value_of(run.rows[i]);
    if (!value) continue;
    BestOf& of = best[*value];
    if (!of.row && std::isfinite(cost_of(run, run.rows[i]))) of.row = i;
  }
  for (BestOf& of : best)
    if (of.row && of.bound && !better(*of.bound, of.row)) of.bound.reset();
  return best;
}

}  // namespace

std::vector<BestOf> best_by(const SearchRun& run, std::size_t axis) {
  return best_of_each(run, run.axes[axis].values.size(), [&](const CandidateRow& row) {
    return std::optional<std::size_t>(choices(run.axes, row.candidate)[axis]);
  });
}

std::vector<std::uint64_t> gpu_numbers(const SearchRun& run) {
  std::set<std::uint64_t> numbers;
  for (const CandidateRow& row : run.rows)
    if (row.work.gpus > 0) numbers.insert(row.work.gpus);
  return {numbers.begin(), numbers.end()};
}

std::vector<BestOf> best_by_gpus(const SearchRun& run) {
  const std::vector<std::uint64_t> numbers = gpu_numbers(run);
  return best_of_each(run, numbers.size(), [&](const CandidateRow& row) {
    const auto at = std::ranges::lower_bound(numbers, row.work.gpus);
    return row.work.gpus == 0 ? std::nullopt
                              : std::optional(static_cast<std::size_t>(at - numbers.begin()));
  });
}

namespace {

Comparison compare(const SearchRun& run, std::size_t better, std::size_t worse, bool by_gpu) {
  const CandidateRow& a = run.rows[better];
  const CandidateRow& b = run.rows[worse];
  Comparison result{.better = better, .worse = worse, .parts = {}, .axes = {}};
  result.behind = behind(run.objective, cost_of(run, b), cost_of(run, a));
  result.iteration_s = a.time_s;
  // How many iterations of b do the work of one of a.
  double scale =
      seconds_per_unit(b.work, b.time_s) / seconds_per_unit(a.work, a.time_s) * a.time_s / b.time_s;
  result.is_of_gpu_time =
      by_gpu && a.work.gpus != b.work.gpus && a.work.gpus > 0 && b.work.gpus > 0;
  if (result.is_of_gpu_time)
    scale *= static_cast<double>(b.work.gpus) / static_cast<double>(a.work.gpus);
  result.seconds = b.time_s * scale - a.time_s;
  result.bytes = static_cast<double>(b.peak_bytes) - static_cast<double>(a.peak_bytes);
  for (std::size_t i = 0; i < part_words.size(); ++i) {
    const double more = b.parts.*part_words[i].part * scale - a.parts.*part_words[i].part;
    if (std::abs(more) > rounding * a.time_s) result.parts.push_back({i, more});
  }
  std::ranges::stable_sort(result.parts, std::ranges::greater{},
                           [](const auto& part) { return std::abs(part.seconds); });
  const auto of_a = choices(run.axes, a.candidate);
  const auto of_b = choices(run.axes, b.candidate);
  for (std::size_t axis = 0; axis < run.axes.size(); ++axis)
    if (of_a[axis] != of_b[axis])
      result.axes.push_back(
          {axis, run.axes[axis].values[of_a[axis]], run.axes[axis].values[of_b[axis]]});
  return result;
}

}  // namespace

Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse) {
  return compare(run, better, worse, true);
}

Comparison compare_wall_time(const SearchRun& run, std::size_t better, std::size_t worse) {
  return compare(run, better, worse, false);
}

std::optional<Comparison> runner_up(const SearchRun& run, const Findings& findings) {
  const auto reaches = [&](std::size_t row) { return std::isfinite(cost_of(run, run.rows[row])); };
  const auto begin = findings.ranked.begin();
  const auto end = std::find_if_not(begin, findings.ranked.end(), reaches);
  if (end - begin < 2) return std::nullopt;
  auto next = std::find_if_not(
      begin + 1, end, [&](std::size_t row) { return are_twins(run.rows[row], run.rows[*begin]); });
  const auto twins = static_cast<std::size_t>(next - begin) - 1;
  if (next == end) --next;
  Comparison result = compare_rows(run, *begin, *next);
  result.twins = twins;
  return result;
}

std::string parts_text(const Comparison& comparison) {
  std::string text;
  for (const Comparison::Part& part : comparison.parts) {
    const double share = part.seconds / comparison.iteration_s;
    if (std::abs(share) < least_shown) continue;
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", share > 0 ? "+" : "",
                        format_percent(share), part_words[part.part].words);
  }
  return text.empty() ? "the same times" : text;
}

std::string axes_text(const SearchRun& run, const Comparison& comparison) {
  std::string text;
  for (const Comparison::Axis& axis : comparison.axes)
    text +=
        fmt::format("{}{} {} for {}", text.empty() ? "" : ", ", printable(run.axes[axis.axis].name),
                    printable(axis.worse), printable(axis.better));
  return text;
}

}  // namespace pipewright::analysis
