#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/picture/titles.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double tradeoff_page_width = 760;  // All lengths are in points.
constexpr double tradeoff_page_height = 470;
constexpr Area tradeoff_plot{74, 66, tradeoff_page_width - 24, tradeoff_page_height - 54};

// Content of an axis: its title, one value per run, and the unit that keeps the numbers short.
struct AxisQuantity {
  std::string title;
  std::string words;
  std::vector<double> values;
  double unit = 1;
};

AxisQuantity memory_quantity(std::span<const Summary> runs) {
  AxisQuantity bytes{"memory", "peak memory of the fullest device (GiB)", {}, 1024.0 * 1024 * 1024};
  AxisQuantity in_flight{
      "microbatches in flight", "peak in flight on a device (microbatches)", {}, 1};
  for (const Summary& run : runs) {
    double peak_bytes = 0;
    double peak_in_flight = 0;
    for (const DeviceSummary& device : run.devices) {
      peak_bytes = std::max(peak_bytes, static_cast<double>(device.peak_memory_bytes));
      peak_in_flight = std::max(peak_in_flight, device.peak_in_flight);
    }
    bytes.values.push_back(peak_bytes / bytes.unit);
    in_flight.values.push_back(peak_in_flight);
  }
  const bool has_bytes = std::ranges::all_of(bytes.values, [](double value) { return value > 0; });
  if (has_bytes && std::ranges::max(bytes.values) < 0.1) {
    bytes.words = "peak memory of the fullest device (MiB)";
    for (double& value : bytes.values) value *= 1024;
  }
  return has_bytes ? bytes : in_flight;
}

AxisQuantity throughput_quantity(std::span<const Summary> runs) {
  AxisQuantity quantity;
  const auto all_have = [&](std::optional<double> Summary::*rate) {
    return std::ranges::all_of(runs, [&](const Summary& run) { return (run.*rate).has_value(); });
  };
  std::string rate_unit = "microbatches/s";
  for (const Summary& run : runs) {
    if (all_have(&Summary::tokens_per_s)) {
      rate_unit = "tokens/s";
      quantity.values.push_back(*run.tokens_per_s);
    } else if (all_have(&Summary::samples_per_s)) {
      rate_unit = "samples/s";
      quantity.values.push_back(*run.samples_per_s);
    } else {
      const double microbatches =
          static_cast<double>(run.run.microbatches) * run.run.iterations * run.run.replicas;
      quantity.values.push_back(run.makespan_s > 0 ? microbatches / run.makespan_s : 0);
    }
  }
  const double greatest = std::ranges::max(quantity.values);
  constexpr std::array<std::pair<double, const char*>, 4> prefixes{
      {{1e9, "G "}, {1e6, "M "}, {1e3, "k "}, {1, ""}}};
  for (const auto& [factor, prefix] : prefixes)
    if (greatest >= 2 * factor || factor == 1) {
      quantity.title = rate_unit == "microbatches/s" ? "Microbatches per second" : "Throughput";
      quantity.words = fmt::format("throughput ({}{})", prefix, rate_unit);
      for (double& value : quantity.values) value /= factor;
      return quantity;
    }
  return quantity;
}

// Returns true if the runs can be ranked: all train the same model, or none has one. Models differ
// if the work per token does.
bool are_comparable(std::span<const Summary> runs) {
  const auto work = [](const Summary& run) {
    const double tokens = run.run.tokens_per_microbatch;
    return tokens > 0 ? run.run.model_flops / tokens : run.run.model_flops;
  };
  return std::ranges::all_of(runs, [&](const Summary& run) {
    const double first = work(runs.front());
    return std::abs(work(run) - first) <= 1e-6 * first;
  });
}

// Makes a scale that covers the values, with some room on both sides if they are nearly equal.
Scale scale_around(const std::vector<double>& values, double start, double end, int max_steps) {
  const auto [smallest, greatest] = std::ranges::minmax(values);
  const double room = greatest - smallest < 0.02 * greatest ? 0.02 * greatest : 0;
  return scale_of(std::max(0.0, smallest - room), greatest + room, start, end, max_steps);
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const TradeoffPoint> points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].fits) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return points[a].memory != points[b].memory ? points[a].memory < points[b].memory
                                                : points[a].throughput > points[b].throughput;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order)
    if (front.empty() || points[i].throughput > points[front.back()].throughput) front.push_back(i);
  return front;
}

void draw_tradeoff(std::span<const Summary> runs, const std::filesystem::path& file,
                   PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture needs at least one run");
  const AxisQuantity memory = memory_quantity(runs);
  const AxisQuantity throughput = throughput_quantity(runs);
  std::vector<TradeoffPoint> points;
  for (std::size_t i = 0; i < runs.size(); ++i)
    points.push_back({memory.values[i], throughput.values[i], fits(runs[i])});
  const Scale x = scale_around(memory.values, tradeoff_plot.left, tradeoff_plot.right, 10);
  const Scale y = scale_around(throughput.values, tradeoff_plot.bottom, tradeoff_plot.top, 8);

  const std::unique_ptr<Canvas> page = make_canvas(kind, tradeoff_page_width, tradeoff_page_height);
  Canvas& canvas = *page;
  draw_heading(canvas, 22, tradeoff_plot.right, 24,
               fmt::format("{} against {}", throughput.title, memory.title),
               "up and to the left is better");
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  draw_axes(canvas, {tradeoff_plot, x, y, number, number, memory.words});
  canvas.text(22, tradeoff_plot.top - 10, throughput.words, {.size = 10, .colour = faint_ink});
  std::vector<std::size_t> front;
  if (are_comparable(runs)) front = pareto_front(points);
  std::vector<Area> obstacles;
  const auto draw_segment = [&](double x0, double y0, double x1, double y1) {
    canvas.line(x0, y0, x1, y1, line_colour, 1.4);
    obstacles.push_back(
        {std::min(x0, x1) - 1, std::min(y0, y1) - 1, std::max(x0, x1) + 1, std::max(y0, y1) + 1});
  };
  for (std::size_t i = 0; i < front.size(); ++i) {
    const TradeoffPoint& point = points[front[i]];
    const bool is_last = i + 1 == front.size();
    const double right = is_last ? tradeoff_plot.right : x(points[front[i + 1]].memory);
    draw_segment(x(point.memory), y(point.throughput), right, y(point.throughput));
    if (!is_last)
      draw_segment(right, y(point.throughput), right, y(points[front[i + 1]].throughput));
  }
  const std::vector<std::string> names = run_names(runs);
  std::vector<NamedDot> dots;
  for (std::size_t i = 0; i < runs.size(); ++i)
    dots.push_back({names[i], x(points[i].memory), y(points[i].throughput)});
  name_dots(canvas, dots, obstacles, tradeoff_plot);
  bool has_fitting = false;
  bool has_too_large = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    (points[i].fits ? has_fitting : has_too_large) = true;
    if (points[i].fits)
      canvas.dot(dots[i].x, dots[i].y, 3.4, dot_colour);
    else
      draw_cross(canvas, dots[i].x, dots[i].y, dot_colour);
  }
  std::vector<Swatch> legend;
  if (has_fitting) legend.push_back({dot_colour, "run", Swatch::Kind::dot});
  if (has_too_large)
    legend.push_back({dot_colour, "run that does not fit in memory", Swatch::Kind::cross});
  if (!front.empty()) legend.push_back({line_colour, "best for its memory", Swatch::Kind::line});
  draw_swatches(canvas, legend, 260, tradeoff_plot.right, tradeoff_plot.top - 10);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
