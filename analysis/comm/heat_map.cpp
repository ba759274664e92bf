#include "analysis/comm/heat_map.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/comm/colour_scale.hpp"
#include "analysis/comm/matrix_cells.hpp"
#include "analysis/picture/swatches.hpp"
#include "analysis/timeline/layout.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double side = 400;  // of a field; points, as all lengths here
constexpr double gap = 52;    // between the fields
constexpr double widest_name = 130;
constexpr double top = 86;  // of the fields
constexpr std::size_t most_rows = 512;
constexpr double written = 24;  // cells that are larger have their numbers in them
constexpr TextStyle name_style{.size = 8.5, .align = Align::right};

struct Quantity {
  std::string title;
  ColourRamp ramp;
  std::vector<double> of_class;
  double unit;  // what values are multiplied with to be shown
};

// A label for some rows that stand together.
struct Label {
  std::size_t begin, end;
  std::string words;
};

// Each row, if there is room; else each node, or as many of them as there is room for.
std::vector<Label> labels_of(const PairMatrix& matrix) {
  constexpr double room = 10;
  const double cell = side / static_cast<double>(matrix.size());
  std::vector<Label> labels;
  const bool nodes = cell < room;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (nodes && i > 0 && matrix.nodes[i] == matrix.nodes[i - 1])
      ++labels.back().end;
    else
      labels.push_back(
          {i, i + 1, nodes ? fmt::format("node {}", matrix.nodes[i]) : matrix.names[i]});
  }
  const double each = side / static_cast<double>(labels.size());
  std::size_t step = 1;
  while (static_cast<double>(step) * each < room) step *= 2;
  std::vector<Label> kept;
  for (std::size_t i = 0; i < labels.size(); i += step) kept.push_back(labels[i]);
  return kept;
}

void draw_cells(Canvas& canvas, const PairMatrix& matrix, const Quantity& quantity, double left) {
  std::vector<double> values;
  for (const CellBlock& block : blocks_of(matrix))
    if (block.number != PairMatrix::itself) values.push_back(quantity.of_class[block.number]);
  const ColourScale scale(quantity.ramp, values);
  const double cell = side / static_cast<double>(matrix.size());
  // All blocks of one class are one path, so that no seams show between them.
  std::optional<std::uint32_t> number;
  const auto fill = [&] {
    if (number)
      canvas.fill(*number == PairMatrix::itself ? idle_paint : scale(quantity.of_class[*number]));
  };
  for (const CellBlock& block : blocks_of(matrix)) {
    if (number != block.number) fill();
    number = block.number;
    canvas.rectangle(left + static_cast<double>(block.left) * cell,
                     top + static_cast<double>(block.top) * cell,
                     left + static_cast<double>(block.right) * cell,
                     top + static_cast<double>(block.bottom) * cell);
  }
  fill();
  if (cell >= written)
    for (std::size_t i = 0; i < matrix.size(); ++i)
      for (std::size_t j = 0; j < matrix.size(); ++j) {
        const std::uint32_t here = matrix.at(i, j);
        if (here == PairMatrix::itself) continue;
        const double value = quantity.of_class[here];
        const TextStyle style{.size = std::min(9.0, cell * 0.34),
                              .align = Align::centre,
                              .colour = wants_dark_text(scale(value)) ? ink : Colour{1, 1, 1}};
        canvas.text(left + (static_cast<double>(j) + 0.5) * cell,
                    top + (static_cast<double>(i) + 0.5) * cell + style.size * 0.36,
                    short_number(value * quantity.unit), style);
      }
  scale.draw(canvas, {left, top + side + 14, left + side, top + side + 24}, quantity.unit);
}

// White lines between nodes, where these are large enough.
void draw_borders(Canvas& canvas, const PairMatrix& matrix, double left) {
  const double cell = side / static_cast<double>(matrix.size());
  std::vector<std::size_t> borders;
  for (std::size_t i = 1; i < matrix.size(); ++i)
    if (matrix.nodes[i] != matrix.nodes[i - 1]) borders.push_back(i);
  const double block = side / static_cast<double>(borders.size() + 1);
  if (block < 6 || borders.size() + 1 == matrix.size()) return;
  for (const std::size_t border : borders) {
    const double at = static_cast<double>(border) * cell;
    const double width = block < 20 ? 0.5 : 1.2;
    canvas.line(left + at, top, left + at, top + side, {1, 1, 1}, width);
    canvas.line(left, top + at, left + side, top + at, {1, 1, 1}, width);
  }
}

// Of all columns their numbers, as far as there is room.
void draw_numbers(Canvas& canvas, const std::vector<Label>& labels, double cell, double left) {
  constexpr TextStyle style{.size = 8, .align = Align::centre, .colour = faint_ink};
  double end = left - 100;
  for (const Label& label : labels) {
    const double x = left + static_cast<double>(label.begin + label.end) / 2 * cell;
    const std::string words = label.end - label.begin == 1
                                  ? fmt::format("{}", label.begin)
                                  : fmt::format("{}-{}", label.begin, label.end - 1);
    const double half = canvas.text_width(words, style) / 2;
    if (x - half < end + 4) continue;
    canvas.text(x, top - 4, words, style);
    end = x + half;
  }
}

}  // namespace

void draw_heat_map(const PairMatrix& whole, std::uint64_t message, const HeatMapWords& words,
                   const std::filesystem::path& file, PictureKind kind) {
  if (!whole.is_whole()) throw std::logic_error("a heat map of some pairs");
  const std::size_t gpus = whole.size();
  PairMatrix matrix = gpus > most_rows ? by_node(whole) : whole;
  const std::size_t all_rows = matrix.size();
  matrix = some_of(matrix, most_rows);
  std::string details = words.details;
  if (matrix.size() < all_rows) details += fmt::format(", {} of {} rows", matrix.size(), all_rows);

  std::vector<Quantity> quantities;
  quantities.push_back({message > 0 ? fmt::format("Bandwidth of {} (GB/s)", format_bytes(message))
                                    : std::string("Bandwidth (GB/s)"),
                        blue_ramp,
                        {},
                        1e-9});
  quantities.push_back({"Latency (us)", brown_ramp, {}, 1e6});
  for (const PairClass& one : matrix.classes) {
    quantities[0].of_class.push_back(one.reached(message));
    // A latency of 0 has no logarithm.
    quantities[1].of_class.push_back(std::max(one.latency, 1e-9));
  }

  const std::vector<Label> labels = labels_of(matrix);
  const double cell = side / static_cast<double>(matrix.size());
  Canvas ruler(PictureKind::svg, 1, 1);
  double names = 0;
  for (const Label& label : labels)
    names = std::max(names, ruler.text_width(label.words, name_style));
  names = std::min(names + 3, widest_name);  // kinds of files round widths differently
  const double left = page_margin + names + 8;
  const double right = left + 2 * side + gap;
  Canvas canvas(kind, right + page_margin, top + side + 44 + page_margin);
  draw_heading(canvas, left, right, 24, words.title, details);
  for (std::size_t field = 0; field < quantities.size(); ++field) {
    const double x = left + static_cast<double>(field) * (side + gap);
    canvas.text(x, 54, quantities[field].title, {.size = 10.5, .bold = true});
    canvas.text(x + side, 54, "rows send, columns receive",
                {.size = 9, .align = Align::right, .colour = faint_ink});
    draw_cells(canvas, matrix, quantities[field], x);
    draw_borders(canvas, matrix, x);
    draw_numbers(canvas, labels, cell, x);
    for (const Label& label : labels) {
      const double y = top + static_cast<double>(label.begin + label.end) / 2 * cell + 3;
      if (field == 0)
        canvas.text(x - 6, y, canvas.fitted(label.words, names, name_style), name_style);
      else
        canvas.text(x - 6, y, fmt::format("{}", label.begin),
                    {.size = 8, .align = Align::right, .colour = faint_ink});
    }
  }
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
