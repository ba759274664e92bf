#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/picture/layout.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/picture/titles.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double timeline_swatch_width = 22;
constexpr double timeline_swatch_height = 11;
constexpr double timeline_swatch_gap = 6;
constexpr double timeline_entry_gap = 20;  // Distance between entries of the legend.
constexpr std::uint32_t max_shades = 8;
constexpr TextStyle timeline_legend_style{.size = 10.5};

// Draws the legend's swatch for a kind of pass, with a field for each chunk, or for a sample of
// them if there are many.
double draw_pass_swatch(Canvas& canvas, double x, double top, trace::PassKind kind,
                        std::uint32_t chunks) {
  const std::uint32_t shades = std::min(chunks, max_shades);
  const double width =
      shades == 1 ? timeline_swatch_width : std::max(timeline_swatch_width, 9.0 * shades);
  for (std::uint32_t i = 0; i < shades; ++i) {
    canvas.rectangle(x + width * i / shades, top, x + width * (i + 1) / shades,
                     top + timeline_swatch_height);
    canvas.fill(pass_colour(kind, i, shades));
  }
  return width;
}

const ComponentStyle& collective_style(trace::CollectiveKind kind) {
  return traffic_styles[static_cast<std::size_t>(traffic_of(kind))];
}

// Draws the legend in two lines of swatches: passes first, then everything else.
void draw_timeline_legend(Canvas& canvas, const LegendContent& legend) {
  double x = legend.left;
  double baseline = legend.baseline;
  const double top = baseline - timeline_swatch_height + 1.5;
  const auto frame_and_words = [&](double width, const std::string& words) {
    const double swatch_top = baseline - timeline_swatch_height + 1.5;
    canvas.rectangle(x, swatch_top, x + width, swatch_top + timeline_swatch_height);
    canvas.outline(faint_ink, 0.5);
    canvas.text(x + width + timeline_swatch_gap, baseline, words, timeline_legend_style);
    x += width + timeline_swatch_gap + canvas.text_width(words, timeline_legend_style) +
         timeline_entry_gap;
  };

  for (const trace::PassKind kind : legend.kinds) {
    const double width = draw_pass_swatch(canvas, x, top, kind, legend.chunks);
    frame_and_words(width, fmt::format("{} ({})", style(kind).words, style(kind).letter));
  }
  if (legend.blocked_sends) {
    canvas.hatch(x, top, x + timeline_swatch_width, top + timeline_swatch_height);
    frame_and_words(timeline_swatch_width, "blocked by its send");
  }
  canvas.rectangle(x, top, x + timeline_swatch_width, top + timeline_swatch_height);
  canvas.fill(idle_paint);
  frame_and_words(timeline_swatch_width, "idle");
  std::vector<std::string> notes;
  if (legend.microbatch_numbers)
    notes.emplace_back(!legend.slices              ? "numbers: microbatch"
                       : legend.whole_microbatches ? "numbers: microbatch or slice"
                                                   : "numbers: slice of a microbatch");
  if (legend.chunks > 1)
    notes.push_back(fmt::format("dark to light: chunk 0 to {}", legend.chunks - 1));
  if (legend.fused_pairs) notes.emplace_back("one above the other: fused");
  canvas.text(x, legend.baseline, fmt::format("{}", fmt::join(notes, "; ")),
              {.size = 10.5, .colour = faint_ink});

  x = legend.left;
  baseline += 17;
  const auto plain_entry = [&](Colour colour, const char* words) {
    const double swatch_top = baseline - timeline_swatch_height + 1.5;
    canvas.rectangle(x, swatch_top, x + timeline_swatch_width, swatch_top + timeline_swatch_height);
    canvas.fill(colour);
    frame_and_words(timeline_swatch_width, words);
  };
  for (const trace::CollectiveKind kind : legend.collectives)
    plain_entry(collective_style(kind).colour, collective_style(kind).words);
  if (legend.optimizer_steps) plain_entry(time_colours::optimizer, "optimizer step");
}

constexpr double min_hatched_width = 0.5;
constexpr double min_outlined_size = 3;  // Smallest width and height of a box with an outline.

void draw_device_label(Canvas& canvas, const TimelineLayout& layout, double middle,
                       const trace::DeviceRow& device) {
  constexpr TextStyle name{.size = 10};
  const TextStyle host{.size = 8.5, .align = Align::right, .colour = faint_ink};
  const DeviceLabel label = device_label(device);
  const double right = layout.left - 8;
  const double baseline = middle + 3.5;
  if (label.host.empty()) {
    canvas.text(right, baseline, label.device, {.size = 10, .align = Align::right});
  } else {
    canvas.text(page_margin, baseline, label.device, name);
    canvas.text(right, baseline, label.host, host);
  }
}

struct DeviceRowBoxes {
  double top;
  double bottom;
  std::vector<Box> boxes;

  double middle() const { return (top + bottom) / 2; }
  double top_of(const Box& box) const { return box.part == Part::lower ? middle() : top; }
  double bottom_of(const Box& box) const { return box.part == Part::upper ? middle() : bottom; }
};

// Fills all boxes of one colour as one path, which keeps the file small. Boxes of passes come after
// the blends, whose cells may reach under them.
void fill_boxes(Canvas& canvas, double origin, const DeviceRowBoxes& row) {
  using Key = std::tuple<bool, double, double, double>;
  std::map<Key, std::vector<const Box*>> by_colour;
  for (const Box& box : row.boxes)
    by_colour[{box.pass != nullptr, box.colour.red, box.colour.green, box.colour.blue}].push_back(
        &box);
  for (const auto& [key, boxes] : by_colour) {
    for (const Box* box : boxes)
      canvas.rectangle(origin + box->left, row.top_of(*box), origin + box->right,
                       row.bottom_of(*box));
    canvas.fill(boxes.front()->colour);
  }
}

// Draws outlines thinner around narrow boxes, where lines would outweigh the colours. Blends have
// no outlines.
void outline_boxes(Canvas& canvas, double origin, const DeviceRowBoxes& row) {
  if (row.bottom - row.top < min_outlined_size) return;
  const auto outline = [&](double min_width, double max_width, double line_width) {
    bool has_boxes = false;
    for (const Box& box : row.boxes) {
      const double width = box.right - box.left;
      if (box.pass == nullptr || width < min_width || width >= max_width) continue;
      canvas.rectangle(origin + box.left, row.top_of(box), origin + box.right, row.bottom_of(box));
      has_boxes = true;
    }
    if (has_boxes) canvas.outline(ink, line_width);
  };
  outline(min_outlined_size, 2.5 * min_outlined_size, 0.2);
  outline(2.5 * min_outlined_size, std::numeric_limits<double>::infinity(), 0.4);
}

void hatch_blocked(Canvas& canvas, double origin, double units_per_s, const DeviceRowBoxes& row) {
  for (const Box& box : row.boxes) {
    if (box.pass == nullptr) continue;
    const double blocked_right = box.pass->released * units_per_s;
    if (blocked_right - box.right >= min_hatched_width)
      canvas.hatch(origin + box.right, row.top, origin + blocked_right, row.bottom);
  }
}

// Draws bars at least 0.5 points wide, so that they are visible. Skips a bar that would lie within
// the previous one.
class VisibleBars {
 public:
  VisibleBars(Canvas& canvas, double origin, double units_per_s)
      : canvas_(canvas), origin_(origin), units_per_s_(units_per_s) {}
  void add(double start, double end, double top, double bottom) {
    constexpr double min_width = 0.5;
    const double left = origin_ + start * units_per_s_;
    const double right = std::max(left + min_width, origin_ + end * units_per_s_);
    if (top == top_ && left >= left_ && right <= right_) return;
    canvas_.rectangle(left, top, right, bottom);
    top_ = top;
    left_ = left;
    right_ = right;
  }

 private:
  Canvas& canvas_;
  double origin_;
  double units_per_s_;
  double top_ = 0;
  double left_ = 0;
  double right_ = 0;
};

// Draws collectives as bars at the foot of their device's row, and optimizer steps as boxes in it.
void draw_beside_passes(Canvas& canvas, const TimelineLayout& layout, const PanelLayout& place,
                        const trace::Trace& run, const std::vector<DeviceRowBoxes>& rows) {
  for (const trace::CollectiveKind kind : layout.legend.collectives) {
    if (place.strip <= 0) break;
    VisibleBars bars(canvas, layout.left, layout.units_per_s);
    for (const trace::CollectiveRow& row : run.collectives) {
      const double bottom = rows.at(row.device).bottom;
      if (row.kind == kind) bars.add(row.start, row.end, bottom + 0.8, bottom + place.strip);
    }
    canvas.fill(collective_style(kind).colour);
  }
  VisibleBars bars(canvas, layout.left, layout.units_per_s);
  for (const trace::StepRow& step : run.steps) {
    const DeviceRowBoxes& row = rows.at(step.device);
    if (step.updated > step.synchronized)
      bars.add(step.synchronized, step.updated, row.top, row.bottom);
  }
  canvas.fill(time_colours::optimizer);
}

void label_boxes(Canvas& canvas, double origin, const LabelStyle& labels,
                 const DeviceRowBoxes& row) {
  for (const Box& box : row.boxes) {
    if (box.pass == nullptr || !labels.has(box.pass->kind)) continue;
    const double size = box.part == Part::whole ? labels.size : labels.half_size;
    if (size <= 0 || !label_fits(box.pass->microbatch, size, box.right - box.left)) continue;
    const Colour colour = needs_dark_text(box.colour) ? ink : Colour{1, 1, 1};
    canvas.text(origin + (box.left + box.right) / 2,
                (row.top_of(box) + row.bottom_of(box)) / 2 + 0.36 * size,
                std::to_string(box.pass->microbatch),
                {.size = size, .align = Align::centre, .colour = colour});
  }
}

void draw_panel(Canvas& canvas, const TimelineLayout& layout, const PanelLayout& place,
                const trace::Trace& run, const RunTitle& title, double makespan_s) {
  constexpr double max_name_share = 0.5;
  draw_heading(canvas, layout.left, layout.right, place.title, title.name, title.details,
               max_name_share);

  const auto passes = passes_by_device(run);
  std::vector<DeviceRowBoxes> rows;
  for (std::size_t device = 0; device < passes.size(); ++device) {
    const double top = place.top + static_cast<double>(device) * place.row_height;
    rows.push_back(
        {top, top + place.row_height - place.row_gap - place.strip,
         row_boxes(passes[device], run.run.chunks, layout.units_per_s, layout.grain, idle_paint)});
    canvas.rectangle(layout.left, rows.back().top, layout.left + makespan_s * layout.units_per_s,
                     rows.back().bottom);
  }
  canvas.fill(idle_paint);

  for (std::size_t device = 0; device < rows.size(); ++device) {
    const DeviceRowBoxes& row = rows[device];
    if (device % place.label_step == 0)
      draw_device_label(canvas, layout, (row.top + row.bottom) / 2, run.devices[device]);
    fill_boxes(canvas, layout.left, row);
    hatch_blocked(canvas, layout.left, layout.units_per_s, row);
    outline_boxes(canvas, layout.left, row);
    label_boxes(canvas, layout.left, place.labels, row);
  }
  draw_beside_passes(canvas, layout, place, run, rows);
  for (const Tick& tick : layout.ticks.ticks) {
    const double x = layout.left + tick.s * layout.units_per_s;
    canvas.line(x, place.bottom, x, place.bottom + 3, faint_ink, 0.5);
  }
}

void draw_axis(Canvas& canvas, const TimelineLayout& layout) {
  const double y = layout.axis_top;
  for (const Tick& tick : layout.ticks.ticks) {
    const double x = layout.left + tick.s * layout.units_per_s;
    canvas.line(x, y, x, y + 4, ink, 0.7);
    canvas.text(x, y + 15, tick.label, {.size = 10, .align = Align::centre});
  }
  canvas.line(layout.left, y, layout.right, y, ink, 0.7);
  canvas.text((layout.left + layout.right) / 2, y + 31, fmt::format("time ({})", layout.ticks.unit),
              {.size = 10.5, .align = Align::centre});
}

}  // namespace

void draw_timeline(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                   PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture needs at least one run");
  std::vector<Summary> summaries;
  for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
  const std::vector<RunTitle> titles = run_titles(summaries);
  const TimelineLayout layout = lay_out_timeline(runs, summaries);

  const std::unique_ptr<Canvas> page = make_canvas(kind, layout.width, layout.height);
  Canvas& canvas = *page;
  draw_subject(canvas, layout.left, layout.right, layout.subject, common_subject(summaries));
  draw_timeline_legend(canvas, layout.legend);
  for (std::size_t i = 0; i < runs.size(); ++i)
    draw_panel(canvas, layout, layout.panels[i], runs[i], titles[i], summaries[i].makespan_s);
  draw_axis(canvas, layout);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
