#include "analysis/report/picture/layout.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"

namespace pipewright::analysis {
namespace {

// Blends passes that are narrower than a cell of the grid, one cell after the other from left to
// right.
class Blend {
 public:
  Blend(double grain, Colour idle, std::vector<Box>& boxes)
      : grain_(grain), idle_(idle), boxes_(boxes) {}

  void add(double left, double right, Colour colour) {
    while (left < right) {
      const double cell = std::floor(left / grain_);
      if (cell != cell_) flush();
      cell_ = cell;
      // Rounding may put `left` on the end of its cell, so the end is moved to make progress.
      const double cell_end =
          std::min(right, std::max((cell + 1) * grain_, std::nextafter(left, right)));
      const double share = (cell_end - left) / grain_;
      sum_ = {sum_.red + colour.red * share, sum_.green + colour.green * share,
              sum_.blue + colour.blue * share};
      covered_ += share;
      left = cell_end;
    }
  }

  void flush() {
    if (covered_ <= 0) return;
    const double idle = std::max(0.0, 1 - covered_);
    const auto channel = [&](double sum, double idle_channel) {
      // Few levels of brightness, so that neighbouring cells often get the same colour and merge.
      constexpr double levels = 31;
      return std::round(std::min(1.0, sum + idle_channel * idle) * levels) / levels;
    };
    const Colour colour{channel(sum_.red, idle_.red), channel(sum_.green, idle_.green),
                        channel(sum_.blue, idle_.blue)};
    Box* previous = boxes_.empty() ? nullptr : &boxes_.back();
    if (previous != nullptr && previous->pass == nullptr && previous->right == cell_ * grain_ &&
        equal(previous->colour, colour))
      previous->right = (cell_ + 1) * grain_;
    else
      boxes_.push_back({cell_ * grain_, (cell_ + 1) * grain_, colour, nullptr});
    sum_ = {0, 0, 0};
    covered_ = 0;
  }

 private:
  static bool equal(Colour a, Colour b) {
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
  }

  double grain_;
  Colour idle_;
  std::vector<Box>& boxes_;
  double cell_ = -1;
  double covered_ = 0;
  Colour sum_{0, 0, 0};
};

constexpr double largest_label = 10.5;
constexpr double smallest_label = 6.5;
constexpr double label_share_of_height = 0.62;
// Label height as a share of the box for fused pairs, whose boxes have half the height. It is
// larger than for whole boxes, since the text would be unreadable otherwise.
constexpr double label_share_of_half = 0.8;
constexpr double digit_width = 0.6363;  // Width of every digit of DejaVu Sans, in font sizes.
constexpr double required_share = 0.9;  // Share of a kind's passes whose labels must fit, so that a
                                        // few short passes do not count.

double number_width(std::uint32_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits * digit_width;
}

constexpr double timeline_page_width = 1200;
constexpr double label_gap = 8;  // Gap between a label and its row.
constexpr double max_row_height = 24;
constexpr double max_panel_height = 640;
constexpr double strip_height = 4;
constexpr double min_row_with_strip = 12;
constexpr double min_label_height = 11;
constexpr std::size_t max_host_length = 24;
constexpr double finest_grain = 0.5;  // One pixel of a PNG file.
constexpr double coarse_grain = 2;
constexpr std::size_t max_fine_passes = 100'000;  // Keeps vector files below 10 MB.

// Labels every 1st, 2nd, 4th, ... device: powers of two, since device numbers tend to group by
// them.
std::uint32_t rows_per_label(double row_height) {
  std::uint32_t step = 1;
  while (step * row_height < min_label_height) step *= 2;
  return step;
}

double widest_label(std::span<const trace::Trace> runs) {
  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  double widest = 0;
  for (const trace::Trace& run : runs)
    for (const trace::DeviceRow& device : run.devices) {
      const DeviceLabel label = device_label(device);
      const double host =
          label.host.empty() ? 0 : label_gap + ruler->text_width(label.host, {.size = 8.5});
      widest = std::max(widest, ruler->text_width(label.device, {.size = 10}) + host);
    }
  return widest;
}

LegendContent legend_content(std::span<const trace::Trace> runs) {
  LegendContent legend;
  for (const trace::Trace& run : runs) {
    legend.chunks = std::max(legend.chunks, run.run.chunks);
    (run.run.slices > 1 ? legend.slices : legend.whole_microbatches) = true;
    for (const trace::PassRow& pass : run.passes) {
      legend.kinds.insert(pass.kind);
      legend.blocked_sends = legend.blocked_sends || pass.released > pass.end;
    }
    for (const trace::CollectiveRow& row : run.collectives) legend.collectives.insert(row.kind);
    for (const trace::StepRow& step : run.steps)
      legend.optimizer_steps = legend.optimizer_steps || step.updated > step.synchronized;
    for (const auto& passes : passes_by_device(run))
      for (std::size_t i = 1; i < passes.size(); ++i)
        legend.fused_pairs = legend.fused_pairs || are_fused(*passes[i - 1], *passes[i]);
  }
  return legend;
}

}  // namespace

std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace) {
  std::vector<std::vector<const trace::PassRow*>> devices(trace.devices.size());
  for (const trace::PassRow& pass : trace.passes) devices.at(pass.device).push_back(&pass);
  return devices;
}

std::vector<Box> row_boxes(std::span<const trace::PassRow* const> passes, std::uint32_t chunks,
                           double units_per_s, double grain, Colour idle) {
  std::vector<Box> blends;
  std::vector<Box> wide_boxes;
  Blend blend(grain, idle, blends);
  const auto colour_of = [&](const trace::PassRow* pass) {
    return pass_colour(pass->kind, pass->chunk, chunks);
  };
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const trace::PassRow* pass = passes[i];
    const trace::PassRow* fused =
        i + 1 < passes.size() && are_fused(*pass, *passes[i + 1]) ? passes[++i] : nullptr;
    const double left = pass->start * units_per_s;
    const double right = pass->end * units_per_s;
    if (right - left < grain) {
      blend.add(left, right,
                fused == nullptr ? colour_of(pass) : mix(colour_of(pass), colour_of(fused), 0.5));
    } else if (fused == nullptr) {
      wide_boxes.push_back({left, right, colour_of(pass), pass});
    } else {
      if (pass->kind != trace::PassKind::forward) std::swap(pass, fused);
      wide_boxes.push_back({left, right, colour_of(pass), pass, Part::upper});
      wide_boxes.push_back({left, right, colour_of(fused), fused, Part::lower});
    }
  }
  blend.flush();
  // Wide boxes are drawn last, over the blended cells in which they begin and end.
  blends.insert(blends.end(), wide_boxes.begin(), wide_boxes.end());
  return blends;
}

bool LabelStyle::has_labels() const {
  return std::any_of(kinds.begin(), kinds.end(), [](bool kind) { return kind; });
}

bool label_fits(std::uint32_t microbatch, double size, double box_width) {
  constexpr double rounding = 1e-6;  // boxes of equal passes differ by less, in points
  return number_width(microbatch) * size + 1 <= box_width + rounding;
}

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height) {
  const double fitting_height = std::min(largest_label, box_height * label_share_of_height);
  if (fitting_height < smallest_label) return {};

  // Largest font size at which the label of each pass fits into its box, by kind of pass.
  std::array<std::vector<double>, trace::pass_kinds> sizes;
  for (const trace::PassRow& pass : run.passes)
    sizes[static_cast<std::size_t>(pass.kind)].push_back(
        ((pass.end - pass.start) * units_per_s - 1) / number_width(pass.microbatch));

  LabelStyle style{fitting_height, 0, {}};
  for (std::size_t kind = 0; kind < sizes.size(); ++kind) {
    std::vector<double>& kind_sizes = sizes[kind];
    if (kind_sizes.empty()) continue;
    const auto index = static_cast<std::ptrdiff_t>(
        std::floor((1 - required_share) * static_cast<double>(kind_sizes.size())));
    std::nth_element(kind_sizes.begin(), kind_sizes.begin() + index, kind_sizes.end());
    const double fitting = kind_sizes[static_cast<std::size_t>(index)];
    if (fitting < smallest_label) continue;
    style.kinds[kind] = true;
    style.size = std::min(style.size, fitting);
  }
  const double half_size = std::min(style.size, box_height / 2 * label_share_of_half);
  if (half_size >= smallest_label) style.half_size = half_size;
  return style;
}

DeviceLabel device_label(const trace::DeviceRow& device) {
  return {fmt::format("device {}", device.device),
          device.host.size() <= max_host_length ? device.host : ""};
}

TimelineLayout lay_out_timeline(std::span<const trace::Trace> runs,
                                std::span<const Summary> summaries) {
  double span_s = 0;
  for (const Summary& summary : summaries) span_s = std::max(span_s, summary.makespan_s);
  if (span_s <= 0) span_s = 1;  // A run without passes shows an empty second.

  TimelineLayout layout{};
  layout.width = timeline_page_width;
  layout.left = page_margin + widest_label(runs) + label_gap;
  layout.right = timeline_page_width - page_margin - 10;  // Room for half of the last tick's label.
  layout.units_per_s = (layout.right - layout.left) / span_s;
  std::size_t passes = 0;
  for (const trace::Trace& run : runs) passes += run.passes.size();
  layout.grain = passes <= max_fine_passes ? finest_grain : coarse_grain;
  layout.ticks = time_ticks(span_s, 14);
  layout.legend = legend_content(runs);
  layout.legend.left = layout.left;
  layout.subject = page_margin + 12;
  layout.legend.baseline = layout.subject + 22;

  double y = layout.legend.baseline + (layout.legend.has_second_line() ? 29 : 12);
  for (const trace::Trace& run : runs) {
    const auto devices = static_cast<double>(std::max<std::size_t>(1, run.devices.size()));
    PanelLayout panel{};
    panel.title = y + 18;
    panel.top = panel.title + 8;
    panel.row_height = std::min(max_row_height, max_panel_height / devices);
    panel.bottom = panel.top + devices * panel.row_height;
    panel.row_gap = panel.row_height >= 5 ? 1.5 : panel.row_height >= 2 ? 0.3 : 0;
    panel.label_step = rows_per_label(panel.row_height);
    panel.strip =
        !run.collectives.empty() && panel.row_height >= min_row_with_strip ? strip_height : 0;
    panel.labels =
        label_style(run, layout.units_per_s, panel.row_height - panel.row_gap - panel.strip);
    layout.legend.microbatch_numbers =
        layout.legend.microbatch_numbers || panel.labels.has_labels();
    layout.panels.push_back(panel);
    y = panel.bottom + 10;
  }
  layout.axis_top = y - 4;
  layout.height = layout.axis_top + 31 + page_margin;
  return layout;
}

}  // namespace pipewright::analysis
