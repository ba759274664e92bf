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

constexpr double page_width = 760;  // points, as all lengths here
constexpr double page_height = 470;
constexpr Area plot{74, 66, page_width - 24, page_height - 54};

// Values of an axis in a unit that keeps them short.
struct Quantity {
  std::string title;
  std::string words;
  std::vector<double> values;
  double unit = 1;
};

Quantity memory_of(std::span<const Summary> runs) {
  Quantity bytes{"memory", "peak memory of the fullest device (GiB)", {}, 1024.0 * 1024 * 1024};
  Quantity in_flight{"microbatches in flight", "peak in flight on a device (microbatches)", {}, 1};
  for (const Summary& run : runs) {
    double most_bytes = 0;
    double most = 0;
    for (const DeviceSummary& device : run.devices) {
      most_bytes = std::max(most_bytes, static_cast<double>(device.peak_memory_bytes));
      most = std::max(most, device.peak_in_flight);
    }
    bytes.values.push_back(most_bytes / bytes.unit);
    in_flight.values.push_back(most);
  }
  const bool known = std::ranges::all_of(bytes.values, [](double value) { return value > 0; });
  if (known && std::ranges::max(bytes.values) < 0.1) {
    bytes.words = "peak memory of the fullest device (MiB)";
    for (double& value : bytes.values) value *= 1024;
  }
  return known ? bytes : in_flight;
}

Quantity throughput_of(std::span<const Summary> runs) {
  Quantity found;
  const auto all = [&](std::optional<double> Summary::*rate) {
    return std::ranges::all_of(runs, [&](const Summary& run) { return (run.*rate).has_value(); });
  };
  std::string what = "microbatches/s";
  for (const Summary& run : runs) {
    if (all(&Summary::tokens_per_s)) {
      what = "tokens/s";
      found.values.push_back(*run.tokens_per_s);
    } else if (all(&Summary::samples_per_s)) {
      what = "samples/s";
      found.values.push_back(*run.samples_per_s);
    } else {
      const double microbatches =
          static_cast<double>(run.run.microbatches) * run.run.iterations * run.run.replicas;
      found.values.push_back(run.makespan_s > 0 ? microbatches / run.makespan_s : 0);
    }
  }
  const double most = std::ranges::max(found.values);
  constexpr std::array<std::pair<double, const char*>, 4> prefixes{
      {{1e9, "G "}, {1e6, "M "}, {1e3, "k "}, {1, ""}}};
  for (const auto& [factor, prefix] : prefixes)
    if (most >= 2 * factor || factor == 1) {
      found.title = what == "microbatches/s" ? "Microbatches per second" : "Throughput";
      found.words = fmt::format("throughput ({}{})", prefix, what);
      for (double& value : found.values) value /= factor;
      return found;
    }
  return found;
}

// Whether one run can be better than another: that takes the same model, or none at all. Models
// differ where the work for a token does.
bool compare(std::span<const Summary> runs) {
  const auto work = [](const Summary& run) {
    const double tokens = run.run.tokens_per_microbatch;
    return tokens > 0 ? run.run.model_flops / tokens : run.run.model_flops;
  };
  return std::ranges::all_of(runs, [&](const Summary& run) {
    const double first = work(runs.front());
    return std::abs(work(run) - first) <= 1e-6 * first;
  });
}

// Equal values have room around them.
Scale scale_around(const std::vector<double>& values, double start, double end, int most) {
  const auto [least, greatest] = std::ranges::minmax(values);
  const double room = greatest - least < 0.02 * greatest ? 0.02 * greatest : 0;
  return scale_of(std::max(0.0, least - room), greatest + room, start, end, most);
}

}  // namespace

std::vector<std::size_t> best_of(std::span<const TradeoffPoint> points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].fits) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return points[a].memory != points[b].memory ? points[a].memory < points[b].memory
                                                : points[a].throughput > points[b].throughput;
  });
  std::vector<std::size_t> best;
  for (const std::size_t i : order)
    if (best.empty() || points[i].throughput > points[best.back()].throughput) best.push_back(i);
  return best;
}

void draw_tradeoff(std::span<const Summary> runs, const std::filesystem::path& file,
                   PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture of no runs");
  const Quantity memory = memory_of(runs);
  const Quantity throughput = throughput_of(runs);
  std::vector<TradeoffPoint> points;
  for (std::size_t i = 0; i < runs.size(); ++i)
    points.push_back({memory.values[i], throughput.values[i], fits(runs[i])});
  const Scale x = scale_around(memory.values, plot.left, plot.right, 10);
  const Scale y = scale_around(throughput.values, plot.bottom, plot.top, 8);

  const std::unique_ptr<Canvas> page = make_canvas(kind, page_width, page_height);
  Canvas& canvas = *page;
  draw_heading(canvas, 22, plot.right, 24,
               fmt::format("{} against {}", throughput.title, memory.title),
               "up and to the left is better");
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  draw_axes(canvas, {plot, x, y, number, number, memory.words});
  canvas.text(22, plot.top - 10, throughput.words, {.size = 10, .colour = faint_ink});
  std::vector<std::size_t> best;
  if (compare(runs)) best = best_of(points);
  std::vector<Area> obstacles;
  const auto draw = [&](double x0, double y0, double x1, double y1) {
    canvas.line(x0, y0, x1, y1, line_colour, 1.4);
    obstacles.push_back(
        {std::min(x0, x1) - 1, std::min(y0, y1) - 1, std::max(x0, x1) + 1, std::max(y0, y1) + 1});
  };
  for (std::size_t i = 0; i < best.size(); ++i) {
    const TradeoffPoint& point = points[best[i]];
    const bool last = i + 1 == best.size();
    const double until = last ? plot.right : x(points[best[i + 1]].memory);
    draw(x(point.memory), y(point.throughput), until, y(point.throughput));
    if (!last) draw(until, y(point.throughput), until, y(points[best[i + 1]].throughput));
  }
  const std::vector<std::string> names = run_names(runs);
  std::vector<NamedDot> dots;
  for (std::size_t i = 0; i < runs.size(); ++i)
    dots.push_back({names[i], x(points[i].memory), y(points[i].throughput)});
  name_dots(canvas, dots, obstacles, plot);
  bool some_fit = false;
  bool some_do_not = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    (points[i].fits ? some_fit : some_do_not) = true;
    if (points[i].fits)
      canvas.dot(dots[i].x, dots[i].y, 3.4, dot_colour);
    else
      draw_cross(canvas, dots[i].x, dots[i].y, dot_colour);
  }
  std::vector<Swatch> legend;
  if (some_fit) legend.push_back({dot_colour, "run", Swatch::Kind::dot});
  if (some_do_not)
    legend.push_back({dot_colour, "run that does not fit in memory", Swatch::Kind::cross});
  if (!best.empty()) legend.push_back({line_colour, "best for its memory", Swatch::Kind::line});
  draw_swatches(canvas, legend, 260, plot.right, plot.top - 10);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
