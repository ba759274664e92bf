#include "analysis/timeline/layout.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "analysis/timeline/boxes.hpp"
#include "analysis/timeline/canvas.hpp"

namespace pipewright::analysis {
namespace {

constexpr double largest = 10.5;
constexpr double smallest = 6.5;
constexpr double share_of_height = 0.62;
constexpr double share_of_half = 0.8;   // less room around it, so that it can be read at all
constexpr double digit_width = 0.6363;  // of DejaVu Sans, all digits alike; in sizes of the font
constexpr double share_that_fits =
    0.9;  // of a kind's passes, so that a few short ones do not count

double width(std::uint32_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits * digit_width;
}

constexpr double page_width = 1200;
constexpr double label_gap = 8;  // between a label and its row
constexpr double tallest_row = 24;
constexpr double tallest_panel = 640;
constexpr double strip_height = 4;
constexpr double least_row_with_strip = 12;
constexpr double least_label_height = 11;
constexpr std::size_t longest_host = 24;
constexpr double finest_grain = 0.5;  // a pixel of PNG
constexpr double coarse_grain = 2;
constexpr std::size_t most_fine_passes = 100'000;  // keeps vector files below 10 MB

// Every 1st, 2nd, 4th, ...: powers of two, as device numbers tend to group.
std::uint32_t label_step(double row_height) {
  std::uint32_t step = 1;
  while (step * row_height < least_label_height) step *= 2;
  return step;
}

double widest_label(std::span<const trace::Trace> runs) {
  Canvas ruler(PictureKind::svg, 1, 1);
  double widest = 0;
  for (const trace::Trace& run : runs)
    for (const trace::DeviceRow& device : run.devices) {
      const DeviceLabel label = device_label(device);
      const double host =
          label.host.empty() ? 0 : label_gap + ruler.text_width(label.host, {.size = 8.5});
      widest = std::max(widest, ruler.text_width(label.device, {.size = 10}) + host);
    }
  return widest;
}

LegendContent explain(std::span<const trace::Trace> runs) {
  LegendContent legend;
  for (const trace::Trace& run : runs) {
    legend.chunks = std::max(legend.chunks, run.run.chunks);
    for (const trace::PassRow& pass : run.passes) {
      legend.kinds.insert(pass.kind);
      legend.blocked_sends = legend.blocked_sends || pass.released > pass.end;
    }
    for (const trace::CollectiveRow& row : run.collectives) legend.collectives.insert(row.kind);
    for (const trace::StepRow& step : run.steps)
      legend.steps = legend.steps || step.updated > step.synchronized;
    for (const auto& passes : passes_by_device(run))
      for (std::size_t i = 1; i < passes.size(); ++i)
        legend.pairs = legend.pairs || are_fused(*passes[i - 1], *passes[i]);
  }
  return legend;
}

}  // namespace

bool LabelStyle::any() const {
  return std::any_of(kinds.begin(), kinds.end(), [](bool kind) { return kind; });
}

bool label_fits(std::uint32_t microbatch, double size, double box_width) {
  return width(microbatch) * size + 1 <= box_width;
}

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height) {
  const double fitting_height = std::min(largest, box_height * share_of_height);
  if (fitting_height < smallest) return {};

  std::array<std::vector<double>, trace::pass_kinds> sizes;  // at which each label fits
  for (const trace::PassRow& pass : run.passes)
    sizes[static_cast<std::size_t>(pass.kind)].push_back(
        ((pass.end - pass.start) * units_per_s - 1) / width(pass.microbatch));

  LabelStyle style{fitting_height, 0, {}};
  for (std::size_t kind = 0; kind < sizes.size(); ++kind) {
    std::vector<double>& of_kind = sizes[kind];
    if (of_kind.empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(
        std::floor((1 - share_that_fits) * static_cast<double>(of_kind.size())));
    std::nth_element(of_kind.begin(), of_kind.begin() + at, of_kind.end());
    const double fitting = of_kind[static_cast<std::size_t>(at)];
    if (fitting < smallest) continue;
    style.kinds[kind] = true;
    style.size = std::min(style.size, fitting);
  }
  const double half = std::min(style.size, box_height / 2 * share_of_half);
  if (half >= smallest) style.half_size = half;
  return style;
}

DeviceLabel device_label(const trace::DeviceRow& device) {
  return {fmt::format("device {}", device.device),
          device.host.size() <= longest_host ? device.host : ""};
}

Layout lay_out(std::span<const trace::Trace> runs, std::span<const Summary> summaries) {
  double span_s = 0;
  for (const Summary& summary : summaries) span_s = std::max(span_s, summary.makespan_s);
  if (span_s <= 0) span_s = 1;  // no passes at all: an empty second

  Layout layout{};
  layout.width = page_width;
  layout.left = page_margin + widest_label(runs) + label_gap;
  layout.right = page_width - page_margin - 10;  // half of the last tick's label
  layout.units_per_s = (layout.right - layout.left) / span_s;
  std::size_t passes = 0;
  for (const trace::Trace& run : runs) passes += run.passes.size();
  layout.grain = passes <= most_fine_passes ? finest_grain : coarse_grain;
  layout.ticks = time_ticks(span_s, 14);
  layout.legend = explain(runs);
  layout.legend.left = layout.left;
  layout.legend.baseline = page_margin + 12;

  double y = layout.legend.baseline + (layout.legend.has_second_line() ? 29 : 12);
  for (const trace::Trace& run : runs) {
    const auto devices = static_cast<double>(std::max<std::size_t>(1, run.devices.size()));
    PanelPlace panel{};
    panel.title = y + 18;
    panel.top = panel.title + 8;
    panel.row_height = std::min(tallest_row, tallest_panel / devices);
    panel.bottom = panel.top + devices * panel.row_height;
    panel.row_gap = panel.row_height >= 5 ? 1.5 : panel.row_height >= 2 ? 0.3 : 0;
    panel.labelled = label_step(panel.row_height);
    panel.strip =
        !run.collectives.empty() && panel.row_height >= least_row_with_strip ? strip_height : 0;
    panel.labels =
        label_style(run, layout.units_per_s, panel.row_height - panel.row_gap - panel.strip);
    layout.legend.numbers = layout.legend.numbers || panel.labels.any();
    layout.panels.push_back(panel);
    y = panel.bottom + 10;
  }
  layout.axis_top = y - 4;
  layout.height = layout.axis_top + 31 + page_margin;
  return layout;
}

}  // namespace pipewright::analysis
