#include "analysis/search/runner_up.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/search/choices.hpp"
#include "analysis/search/front.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double rounding = 1e-12;      // of an iteration
constexpr double least_shown = 0.0005;  // rounds to 0.1 %

}  // namespace

Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse) {
  const CandidateRow& a = run.rows[better];
  const CandidateRow& b = run.rows[worse];
  Comparison result{.better = better, .worse = worse, .parts = {}, .axes = {}};
  result.behind = behind(run.objective, cost_of(run, b), cost_of(run, a));
  result.iteration_s = a.time_s;
  // How many iterations of b do the work of one of a.
  const double scale =
      seconds_per_unit(b.work, b.time_s) / seconds_per_unit(a.work, a.time_s) * a.time_s / b.time_s;
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
