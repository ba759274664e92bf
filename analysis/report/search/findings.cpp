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

// Returns true if a text begins with a binary unit, such as GiB.
bool begins_with_unit(std::string_view text) {
  return text.size() >= 3 && std::string_view("KMGTPE").find(text[0]) != std::string_view::npos &&
         text.substr(1, 2) == "iB";
}

// Returns a note without its details: numbers and sizes become '#', and a list at the end is cut
// after its first element.
std::string shape_of(const std::string& note) {
  std::string shape;
  for (std::size_t i = 0; i < note.size(); ++i) {
    if (begins_with_unit(std::string_view(note).substr(i))) {
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
  std::vector<Reason> sorted;
  for (const auto& [shape, reason] : by_shape) sorted.push_back(reason);
  std::ranges::sort(sorted, [](const Reason& a, const Reason& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.example < b.example;
  });
  return sorted;
}

// Returns the ratio of the peak memory to the capacity.
double fill_ratio(const CandidateRow& row) {
  return row.capacity_bytes == 0
             ? INFINITY
             : static_cast<double>(row.peak_bytes) / static_cast<double>(row.capacity_bytes);
}

bool has_bound_only(const CandidateRow& row) {
  return row.bound_s > 0 && (row.outcome == Outcome::open || row.outcome == Outcome::bounded_away ||
                             row.outcome == Outcome::failed);
}

// Returns the number of combinations that the search has not examined. A finished search of the
// whole sweep has examined all of them.
double count_unexamined(const SearchRun& run) {
  if (run.finished && run.shard.count == 1) return 0;
  double count = run.combinations - static_cast<double>(run.rows.size());
  for (const Excluded& excluded : run.excluded) count -= static_cast<double>(excluded.combinations);
  return std::max(0.0, count);
}

constexpr double part_tolerance = 1e-12;       // relative to the iteration time
constexpr double min_reported_share = 0.0005;  // rounds to 0.1 %

}  // namespace

double seconds_of(const CandidateRow& row) {
  return row.outcome == Outcome::simulated ? row.time_s : row.bound_s;
}

double cost_of(const SearchRun& run, const CandidateRow& row) {
  return cost(run.objective, row.work, seconds_of(row), row.peak_bytes);
}

double relative_loss(const Objective& objective, double cost, double best) {
  if (!(best > 0) || cost == best) return 0;
  const bool is_rate = objective.kind == Objective::Kind::throughput ||
                       objective.kind == Objective::Kind::mfu ||
                       objective.kind == Objective::Kind::tokens_a_day;
  return is_rate ? 1 - best / cost : cost / best - 1;
}

Findings find(const SearchRun& run) {
  Findings findings;
  findings.ranked = ranking(run);
  findings.best_of_group.resize(run.groups.size());
  for (const std::size_t i : findings.ranked) {
    const CandidateRow& row = run.rows[i];
    if (!std::isfinite(cost_of(run, row))) break;
    if (!findings.best) findings.best = i;
    if (row.group < run.groups.size() && !findings.best_of_group[row.group])
      findings.best_of_group[row.group] = i;
  }
  findings.fronts.resize(run.groups.size());
  for (std::uint32_t group = 0; run.fronts && group < run.groups.size(); ++group)
    findings.fronts[group] = pareto_front(run, group);
  findings.not_looked_at = count_unexamined(run);
  const double best_cost = findings.best ? cost_of(run, run.rows[*findings.best]) : INFINITY;
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const CandidateRow& row = run.rows[i];
    ++findings.outcomes[static_cast<std::size_t>(row.outcome)];
    if (row.outcome == Outcome::illegal && row.note.find(refusal_words) != std::string::npos)
      findings.has_refusals = true;
    if (row.outcome == Outcome::does_not_fit &&
        (!findings.nearest || fill_ratio(row) < fill_ratio(run.rows[*findings.nearest])))
      findings.nearest = i;
    if (row.outcome == Outcome::failed && cost_of(run, row) < best_cost)
      findings.failed_contenders.push_back(i);
  }
  findings.illegal = reasons(run, Outcome::illegal);
  findings.does_not_fit = reasons(run, Outcome::does_not_fit);
  findings.failed = reasons(run, Outcome::failed);
  return findings;
}

namespace {

// Function that returns the index of a row's value on some axis; nothing if the row has none.
using ValueOf = std::function<std::optional<std::size_t>(const CandidateRow&)>;
// Finds for each of the values 0 to `values` - 1 the best row that has this value.
std::vector<BestForValue> best_for_each(const SearchRun& run, std::size_t values,
                                        const ValueOf& value_of) {
  std::vector<BestForValue> best(values);
  for (std::uint32_t value = 0; value < best.size(); ++value) best[value].value = value;
  const auto is_better = [&](std::size_t row, std::optional<std::size_t> rival) {
    return !rival || cost_of(run, run.rows[row]) < cost_of(run, run.rows[*rival]);
  };
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const CandidateRow& row = run.rows[i];
    const std::optional<std::size_t> value = value_of(row);
    if (!value) continue;
    BestForValue& entry = best[*value];
    ++entry.outcomes[static_cast<std::size_t>(row.outcome)];
    if (has_bound_only(row) && is_better(i, entry.bound)) entry.bound = i;
  }
  for (const std::size_t i : ranking(run)) {
    const std::optional<std::size_t> value = value_of(run.rows[i]);
    if (!value) continue;
    BestForValue& entry = best[*value];
    if (!entry.row && std::isfinite(cost_of(run, run.rows[i]))) entry.row = i;
  }
  for (BestForValue& entry : best)
    if (entry.row && entry.bound && !is_better(*entry.bound, entry.row)) entry.bound.reset();
  return best;
}

}  // namespace

std::vector<BestForValue> best_by(const SearchRun& run, std::size_t axis) {
  return best_for_each(run, run.axes[axis].values.size(), [&](const CandidateRow& row) {
    return std::optional<std::size_t>(choices(run.axes, row.candidate)[axis]);
  });
}

std::vector<std::uint64_t> gpu_counts(const SearchRun& run) {
  std::set<std::uint64_t> counts;
  for (const CandidateRow& row : run.rows)
    if (row.work.gpus > 0) counts.insert(row.work.gpus);
  return {counts.begin(), counts.end()};
}

std::vector<BestForValue> best_by_gpus(const SearchRun& run) {
  const std::vector<std::uint64_t> counts = gpu_counts(run);
  return best_for_each(run, counts.size(), [&](const CandidateRow& row) {
    const auto position = std::ranges::lower_bound(counts, row.work.gpus);
    return row.work.gpus == 0 ? std::nullopt
                              : std::optional(static_cast<std::size_t>(position - counts.begin()));
  });
}

namespace {

Comparison compare_candidates(const SearchRun& run, std::size_t better, std::size_t worse,
                              bool in_gpu_time) {
  const CandidateRow& a = run.rows[better];
  const CandidateRow& b = run.rows[worse];
  Comparison result{.better = better, .worse = worse, .parts = {}, .axes = {}};
  result.behind = relative_loss(run.objective, cost_of(run, b), cost_of(run, a));
  result.iteration_s = a.time_s;
  // Number of iterations of candidate b that process as many tokens as one iteration of candidate
  // a.
  double scale =
      seconds_per_unit(b.work, b.time_s) / seconds_per_unit(a.work, a.time_s) * a.time_s / b.time_s;
  result.is_of_gpu_time =
      in_gpu_time && a.work.gpus != b.work.gpus && a.work.gpus > 0 && b.work.gpus > 0;
  if (result.is_of_gpu_time)
    scale *= static_cast<double>(b.work.gpus) / static_cast<double>(a.work.gpus);
  result.seconds = b.time_s * scale - a.time_s;
  result.bytes = static_cast<double>(b.peak_bytes) - static_cast<double>(a.peak_bytes);
  for (std::size_t i = 0; i < time_part_names.size(); ++i) {
    const double seconds =
        b.parts.*time_part_names[i].part * scale - a.parts.*time_part_names[i].part;
    if (std::abs(seconds) > part_tolerance * a.time_s) result.parts.push_back({i, seconds});
  }
  std::ranges::stable_sort(result.parts, std::ranges::greater{},
                           [](const auto& part) { return std::abs(part.seconds); });
  const auto better_values = choices(run.axes, a.candidate);
  const auto worse_values = choices(run.axes, b.candidate);
  for (std::size_t axis = 0; axis < run.axes.size(); ++axis)
    if (better_values[axis] != worse_values[axis])
      result.axes.push_back({axis, run.axes[axis].values[better_values[axis]],
                             run.axes[axis].values[worse_values[axis]]});
  return result;
}

}  // namespace

Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse) {
  return compare_candidates(run, better, worse, true);
}

Comparison compare_wall_time(const SearchRun& run, std::size_t better, std::size_t worse) {
  return compare_candidates(run, better, worse, false);
}

std::optional<Comparison> runner_up(const SearchRun& run, const Findings& findings) {
  const auto reaches_objective = [&](std::size_t row) {
    return std::isfinite(cost_of(run, run.rows[row]));
  };
  const auto begin = findings.ranked.begin();
  const auto end = std::find_if_not(begin, findings.ranked.end(), reaches_objective);
  if (end - begin < 2) return std::nullopt;
  auto next = std::find_if_not(begin + 1, end, [&](std::size_t row) {
    return are_equivalent(run.rows[row], run.rows[*begin]);
  });
  const auto equivalents = static_cast<std::size_t>(next - begin) - 1;
  if (next == end) --next;
  Comparison result = compare_rows(run, *begin, *next);
  result.equivalents = equivalents;
  return result;
}

std::string parts_text(const Comparison& comparison) {
  std::string text;
  for (const Comparison::Part& part : comparison.parts) {
    const double share = part.seconds / comparison.iteration_s;
    if (std::abs(share) < min_reported_share) continue;
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", share > 0 ? "+" : "",
                        format_percent(share), time_part_names[part.part].text);
  }
  return text.empty() ? "the same times" : text;
}

std::string axes_text(const SearchRun& run, const Comparison& comparison) {
  std::string text;
  for (const Comparison::Axis& axis : comparison.axes)
    text += fmt::format("{}{} {} (best: {})", text.empty() ? "" : ", ",
                        printable(run.axes[axis.axis].name), printable(axis.worse),
                        printable(axis.better));
  return text;
}

}  // namespace pipewright::analysis
