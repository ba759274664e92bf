#include "analysis/report/rl/rl_picture.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double pool_margin = 14;  // in points, as all lengths in this file
constexpr double pool_names_width = 84;
constexpr Colour engines_colour = analysis::colour_of(0xcfe8f7);
constexpr Colour responses_colour = analysis::colour_of(0x56b4e9);

constexpr std::array phase_colours{analysis::colour_of(0xf0e442), analysis::colour_of(0xcc79a7),
                                   analysis::colour_of(0xe69f00), analysis::colour_of(0x882255),
                                   analysis::colour_of(0x8b95a3)};
static_assert(phase_colours.size() == rl_phase_names.size());

Colour colour_of(RlPhase phase) { return phase_colours.at(static_cast<std::size_t>(phase)); }

// A pool of GPUs: a row of the timeline.
struct Pool {
  std::string name;
  std::uint32_t gpus = 0;
  double idle = 0;  // share of the time
  bool trains = false;
  bool generates = false;
};

// Training and generation in turn make one pool, since they use the same GPUs.
std::vector<Pool> pools_of(const RlReport& report) {
  if (report.rollout_gpus == 0)
    return {{"all GPUs", report.training_gpus, 1 - report.trainer_busy - report.engines_busy, true,
             true}};
  return {{"training", report.training_gpus, 1 - report.trainer_busy, true, false},
          {"generation", report.rollout_gpus, 1 - report.engines_busy, false, true}};
}

// Fills the area below values between 0 and 1, each of which takes an equal part of the width.
void fill_below(Canvas& canvas, const std::vector<double>& values, const Area& area,
                Colour colour) {
  if (values.empty()) return;
  const double part = (area.right - area.left) / static_cast<double>(values.size());
  std::vector<Point> corners{{area.left, area.bottom}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = area.bottom - std::clamp(values[i], 0.0, 1.0) * (area.bottom - area.top);
    if (i == 0 || y != corners.back().y) {
      const double x = area.left + part * static_cast<double>(i);
      corners.push_back({x, corners.back().y});
      corners.push_back({x, y});
    }
  }
  corners.push_back({area.right, corners.back().y});
  corners.push_back({area.right, area.bottom});
  canvas.polygon(corners);
  canvas.fill(colour);
}

void draw_spans(Canvas& canvas, const RlTimeline& timeline, const Pool& pool, const Area& row) {
  const auto x = [&](double seconds) {
    return row.left + (row.right - row.left) * seconds / timeline.seconds;
  };
  constexpr TextStyle style{.size = 9, .align = Align::centre};
  for (const RlSpan& span : timeline.trainer) {
    if (!pool.trains && span.phase != RlPhase::weights) continue;
    canvas.rectangle(x(span.start), row.top, x(span.end), row.bottom);
    canvas.fill(colour_of(span.phase));
    const std::string_view name = rl_phase_names.at(static_cast<std::size_t>(span.phase));
    if (canvas.text_width(name, style) + 6 < x(span.end) - x(span.start))
      canvas.text((x(span.start) + x(span.end)) / 2, (row.top + row.bottom) / 2 + 3, name, style);
  }
}

std::vector<Swatch> legend_of(const RlTimeline& timeline, double most_responses) {
  std::vector<Swatch> swatches{
      {engines_colour, "engines that generate", Swatch::Kind::field},
      {responses_colour, fmt::format("responses, up to {:.0f} an engine", most_responses),
       Swatch::Kind::field}};
  for (std::size_t i = 0; i < rl_phase_names.size(); ++i)
    if (std::ranges::any_of(timeline.trainer, [&](const RlSpan& span) {
          return span.phase == static_cast<RlPhase>(i) && span.end > span.start;
        }))
      swatches.push_back(
          {phase_colours.at(i), std::string(rl_phase_names.at(i)), Swatch::Kind::field});
  swatches.push_back({idle_paint, "idle", Swatch::Kind::field});
  return swatches;
}

void draw_steps(Canvas& canvas, const RlTimeline& timeline, const Area& rows) {
  double start = rows.left;
  for (std::size_t step = 0; step < timeline.step_ends.size(); ++step) {
    const double end =
        rows.left + (rows.right - rows.left) * timeline.step_ends[step] / timeline.seconds;
    if (step + 1 < timeline.step_ends.size())
      canvas.dashes(end, rows.top - 14, end, rows.bottom, faint_ink, 0.7);
    canvas.text((start + end) / 2, rows.top - 5, fmt::format("step {}", step + 1),
                {.size = 9, .align = Align::centre, .colour = faint_ink});
    start = end;
  }
}

void draw_time_axis(Canvas& canvas, double seconds, double left, double right, double y,
                    int max_steps) {
  const TimeTicks ticks = time_ticks(seconds, max_steps);
  for (const Tick& tick : ticks.ticks) {
    const double x = left + (right - left) * tick.s / seconds;
    canvas.line(x, y, x, y + 4, faint_ink, 0.6);
    canvas.text(x, y + 15, tick.label, {.size = 9, .align = Align::centre, .colour = faint_ink});
  }
  canvas.text(right, y + 29, fmt::format("time ({})", ticks.unit),
              {.size = 9, .align = Align::right, .colour = faint_ink});
}

}  // namespace

std::string rl_picture(const RlReport& report, double width, PictureKind kind) {
  const RlTimeline& timeline = report.timeline;
  const std::vector<Pool> pools = pools_of(report);
  const double left = pool_margin + pool_names_width;
  const double right = width - pool_margin;
  const double peak = timeline.responses.empty() ? 0 : std::ranges::max(timeline.responses);
  const std::vector<Swatch> legend = legend_of(timeline, peak);
  constexpr double legend_top = 60;
  constexpr double row_height = 76;
  constexpr double row_gap = 8;
  const double top = last_baseline(legend, pool_margin, right, legend_top) + 34;
  const double bottom = top + (row_height + row_gap) * static_cast<double>(pools.size()) - row_gap;
  const std::unique_ptr<Canvas> page = make_canvas(kind, width, bottom + 40);
  Canvas& canvas = *page;
  draw_heading(canvas, pool_margin, right, 22,
               fmt::format("a step takes {}", format_seconds(report.step_s)),
               fmt::format("{}, {}", format_rate(report.tokens_per_s(), "tokens"), report.mode));
  canvas.text(pool_margin, 40, canvas.fitted(report.subject, right - pool_margin, {.size = 9}),
              {.size = 9, .colour = faint_ink});
  draw_swatches(canvas, legend, pool_margin, right, legend_top);
  double y = top;
  for (const Pool& pool : pools) {
    const Area row{left, y, right, y + row_height};
    canvas.rectangle(row.left, row.top, row.right, row.bottom);
    canvas.fill(idle_paint);
    if (pool.generates) {
      fill_below(canvas, timeline.generating, row, engines_colour);
      std::vector<double> shares = timeline.responses;
      for (double& value : shares) value = peak > 0 ? value / peak : 0;
      fill_below(canvas, shares, row, responses_colour);
    }
    draw_spans(canvas, timeline, pool, row);
    canvas.text(pool_margin, y + 14, pool.name, {.size = 10.5, .bold = true});
    canvas.text(pool_margin, y + 29, counted(pool.gpus, "GPU"), {.size = 9.5});
    canvas.text(pool_margin, y + 43, format_percent(pool.idle) + " idle", {.size = 9.5});
    y += row_height + row_gap;
  }
  draw_steps(canvas, timeline, {left, top, right, bottom});
  draw_time_axis(canvas, timeline.seconds, left, right, bottom, width > 500 ? 10 : 5);
  return canvas.finish();
}

std::string rl_changes_picture(const RlReport& report, double width, PictureKind kind) {
  constexpr double line_height = 34;
  constexpr double numbers_width = 104;
  constexpr double top = 20;
  std::vector<RlVariant> lines{{"as simulated", report.step_s}};
  lines.insert(lines.end(), report.variants.begin(), report.variants.end());
  const double height = top + line_height * static_cast<double>(lines.size());
  const std::unique_ptr<Canvas> page = make_canvas(kind, width, height);
  Canvas& canvas = *page;
  const double left = pool_margin;
  const double right = width - pool_margin - numbers_width;
  const double longest = std::ranges::max(lines, {}, &RlVariant::step_s).step_s;
  const auto x = [&](double seconds) { return left + (right - left) * seconds / longest; };
  double y = top;
  for (const RlVariant& line : lines) {
    const bool is_simulated = &line == &lines.front();
    canvas.text(left, y, canvas.fitted(line.name, width - 2 * pool_margin, {.size = 9.5}),
                {.size = 9.5, .bold = is_simulated});
    canvas.rectangle(left, y + 5, x(line.step_s), y + 17);
    canvas.fill(is_simulated ? line_colour : responses_colour);
    const std::string change =
        is_simulated ? "" : fmt::format("  {:+.1f} %", 100 * (line.step_s / report.step_s - 1));
    canvas.text(x(line.step_s) + 6, y + 15, format_seconds(line.step_s) + change, {.size = 9.5});
    if (line.step_s > report.step_s)
      canvas.line(x(report.step_s), y + 3, x(report.step_s), y + 19, ink, 0.8);
    y += line_height;
  }
  return canvas.finish();
}

std::string rl_splits_picture(const RlReport& report, double width, PictureKind kind) {
  constexpr double height = 280;
  const Area plot{56, 40, width - 22, height - 46};
  std::vector<double> gpus;
  std::vector<double> seconds;
  for (const RlSplit& split : report.splits) {
    gpus.push_back(split.training_gpus);
    seconds.push_back(split.step_s);
  }
  const Scale x = scale_of(std::ranges::min(gpus), std::ranges::max(gpus), plot.left, plot.right,
                           width > 500 ? 10 : 5);
  const Scale y = scale_of(0, std::ranges::max(seconds), plot.bottom, plot.top, 6);
  const std::unique_ptr<Canvas> page = make_canvas(kind, width, height);
  Canvas& canvas = *page;
  canvas.text(pool_margin, 20, "time of a step (s)", {.size = 9.5, .colour = faint_ink});
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  draw_axes(canvas, {plot, x, y, number, number,
                     fmt::format("training GPUs; the rest of {} generate",
                                 report.splits.front().training_gpus +
                                     report.splits.front().rollout_gpus)});
  std::vector<Point> points;
  for (std::size_t i = 0; i < gpus.size(); ++i) points.push_back({x(gpus[i]), y(seconds[i])});
  canvas.path(points, line_colour, 1.4);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
  for (std::size_t i = 0; i < points.size(); ++i)
    canvas.dot(points[i].x, points[i].y, i == best ? 4.2 : 2.6,
               i == best ? dot_colour : line_colour);
  const RlSplit& split = report.splits[best];
  canvas.text(std::clamp(points[best].x, plot.left + 60, plot.right - 60), points[best].y - 22,
              fmt::format("best: {} train, {} generate", split.training_gpus, split.rollout_gpus),
              {.size = 9.5, .align = Align::centre});
  return canvas.finish();
}

}  // namespace pipewright::analysis
