#include "analysis/measured/compare/steady.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::array figures_of_lines{
    LineFigure{"iteration_s", "iteration", MetricKind::seconds, &LogIteration::elapsed_s},
    LineFigure{"samples_per_s", "samples/s", MetricKind::samples_per_s,
               &LogIteration::samples_per_s},
    LineFigure{"tokens_per_gpu_s", "tokens/s per GPU", MetricKind::tokens_per_s,
               &LogIteration::tokens_per_gpu_s},
    LineFigure{"flops_per_gpu", "model FLOP/s per GPU", MetricKind::flops,
               &LogIteration::flops_per_gpu}};

// A line, and the time of its iterations: seconds, or the inverse of a rate.
struct TimedLine {
  std::size_t index = 0;
  double time = 0;
};

std::vector<TimedLine> timed_lines(std::span<const LogIteration> lines, const LineFigure& figure) {
  std::vector<TimedLine> timed;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (const auto value = lines[i].*figure.value; value && *value > 0)
      timed.push_back({i, figure.quantity == MetricKind::seconds ? *value : 1 / *value});
  return timed;
}

// Returns the figure that most lines have, as it shows warm-up best.
const LineFigure& telling_figure(std::span<const LogIteration> lines) {
  return *std::ranges::max_element(figures_of_lines, {}, [&](const LineFigure& figure) {
    return timed_lines(lines, figure).size();
  });
}

double median_time(std::span<const TimedLine> lines) {
  std::vector<double> times;
  for (const TimedLine& line : lines) times.push_back(line.time);
  return quantile(times, 0.5);
}

// Returns the largest distance from the median that is spread, not warm-up.
double tolerance(std::span<const TimedLine> half, double median) {
  std::vector<double> distances;
  for (const TimedLine& line : half) distances.push_back(std::abs(line.time - median));
  constexpr double normal_deviation = 1.4826;  // Of a normal distribution, per median deviation.
  constexpr std::size_t few_lines = 5;
  const double least = half.size() < few_lines ? 0.1 : 0.03;
  return std::max(least * median, 3 * normal_deviation * quantile(distances, 0.5));
}

// Returns true if the first line gives means over iterations since the start of the run.
bool contains_first_iteration(std::span<const LogIteration> lines,
                              std::span<const TimedLine> timed) {
  const std::uint64_t first = lines[timed[0].index].number;
  return first <= std::max<std::uint64_t>(1, lines[timed[1].index].number - first);
}

// Returns the number of leading timed lines that are warm-up.
std::size_t warm_up_of(std::span<const LogIteration> lines, std::span<const TimedLine> timed) {
  constexpr std::size_t in_sequence = 3;
  if (timed.size() < 2) return 0;
  const std::size_t most = timed.size() / 2;
  const double median = median_time(timed.subspan(most));
  const double allowed = tolerance(timed.subspan(most), median);
  const auto is_steady = [&](const TimedLine& line) {
    return std::abs(line.time - median) <= allowed;
  };
  std::size_t first = 0;
  while (first < most &&
         !std::ranges::all_of(timed.subspan(first, std::min(in_sequence, timed.size() - first)),
                              is_steady))
    ++first;
  if (first == 0 && timed.size() > in_sequence && contains_first_iteration(lines, timed)) return 1;
  return first;
}

std::string value_text(const LineFigure& figure, double time) {
  return format_value(figure.quantity, figure.quantity == MetricKind::seconds ? time : 1 / time);
}

// "iteration 1 is left out as warm-up: 60.00 s, while later ones have a median of 5.450 s".
std::string warm_up_note(std::span<const LogIteration> lines, std::span<const TimedLine> timed,
                         std::size_t count, const LineFigure& figure) {
  const std::uint64_t first = lines[timed[0].index].number;
  const std::uint64_t last = lines[timed[count - 1].index].number;
  const std::string values = count == 1 ? value_text(figure, timed[0].time)
                                        : fmt::format("{} to {}", value_text(figure, timed[0].time),
                                                      value_text(figure, timed[count - 1].time));
  return fmt::format(
      "{} left out as warm-up: {}, while later ones have a median of {}; --skip N leaves out the "
      "first N lines instead",
      count == 1 ? fmt::format("iteration {} is", first)
                 : fmt::format("iterations {} to {} ({} lines) are", first, last, count),
      values, value_text(figure, median_time(timed.subspan(count))));
}

std::string pause_note(const std::vector<std::uint64_t>& numbers, double longest, double median,
                       const LineFigure& figure) {
  return fmt::format(
      "{} left out as {}, such as for a checkpoint: up to {}, against a median of {}; --skip N "
      "keeps all but the first N lines",
      numbers.size() == 1
          ? fmt::format("iteration {} is", numbers.front())
          : fmt::format("{} iterations from {} are", numbers.size(), numbers.front()),
      numbers.size() == 1 ? "a pause" : "pauses", value_text(figure, longest),
      value_text(figure, median));
}

// Removes pauses from the timed lines of the steady state.
void remove_pauses(std::span<const LogIteration> lines, const LineFigure& figure,
                   std::vector<TimedLine>& timed, SteadyLines& result) {
  constexpr double pause_factor = 1.5;
  constexpr std::size_t pauses_in = 10;  // At most one line in so many is a pause.
  const double median = median_time(timed);
  const auto is_pause = [&](const TimedLine& line) { return line.time > pause_factor * median; };
  std::vector<std::uint64_t> numbers;
  double longest = 0;
  for (const TimedLine& line : timed)
    if (is_pause(line)) {
      numbers.push_back(lines[line.index].number);
      longest = std::max(longest, line.time);
    }
  if (numbers.empty() || numbers.size() * pauses_in > timed.size()) return;
  std::erase_if(timed, is_pause);
  result.pauses = numbers.size();
  result.notes.push_back(pause_note(numbers, longest, median, figure));
}

SteadyLines lines_after(std::span<const LogIteration> lines, std::size_t skip) {
  if (skip > 0 && skip >= lines.size())
    throw trace::TraceError(fmt::format("the log has {}, but {} are skipped",
                                        counted(lines.size(), "iteration"), skip));
  const auto rest = lines.subspan(skip);
  return {.lines = {rest.begin(), rest.end()}, .warm_up = skip, .notes = {}};
}

}  // namespace

std::span<const LineFigure> line_figures() { return figures_of_lines; }

SteadyLines steady_lines(std::span<const LogIteration> lines, std::optional<std::size_t> skip) {
  if (skip) return lines_after(lines, *skip);
  const LineFigure& figure = telling_figure(lines);
  std::vector<TimedLine> timed = timed_lines(lines, figure);
  if (timed.empty()) return lines_after(lines, 0);
  SteadyLines result;
  result.warm_up = warm_up_of(lines, timed);
  if (result.warm_up > 0)
    result.notes.push_back(warm_up_note(lines, timed, result.warm_up, figure));
  if (timed.size() == 1)
    result.notes.push_back(
        fmt::format("the log gives {} once, for iteration {}, so warm-up cannot be told from it",
                    figure.quantity == MetricKind::seconds ? "a time" : "a rate",
                    lines[timed[0].index].number));
  timed.erase(timed.begin(), timed.begin() + static_cast<std::ptrdiff_t>(result.warm_up));
  remove_pauses(lines, figure, timed, result);
  for (const TimedLine& line : timed) result.lines.push_back(lines[line.index]);
  return result;
}

std::vector<FigureSpread> spreads_of(std::span<const LogIteration> lines) {
  std::vector<FigureSpread> spreads;
  for (const LineFigure& figure : figures_of_lines) {
    std::vector<double> values;
    for (const LogIteration& line : lines)
      if (const auto value = line.*figure.value) values.push_back(*value);
    if (values.empty()) continue;
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    spreads.push_back({.mean = {figure.name, figure.label, figure.quantity, mean},
                       .lines = values.size(),
                       .least = std::ranges::min(values),
                       .median = quantile(values, 0.5),
                       .most = std::ranges::max(values),
                       .deviation = standard_deviation(values, mean)});
  }
  return spreads;
}

ReportColumns<FigureSpread> spread_columns() {
  using Row = FigureSpread;
  const auto figure = [](const char* heading, double Row::*value) {
    return table_only<Row>({"", {heading}, Quantity::count(), [value](const Row& row) {
                              return format_value(row.mean.quantity, row.*value);
                            }});
  };
  return {
      table_only<Row>(
          {"label", {"measured"}, Quantity::name(), [](const Row& row) { return row.mean.label; }}),
      {"name", [](const Row& row) { return row.mean.name; }},
      {"lines", {"lines"}, Quantity::count(), &Row::lines},
      figure("least", &Row::least),
      figure("median", &Row::median),
      figure("most", &Row::most),
      {"mean", [](const Row& row) { return row.mean.value; }},
      {"least", &Row::least},
      {"median", &Row::median},
      {"most", &Row::most},
      {"deviation", &Row::deviation}};
}

}  // namespace pipewright::analysis
