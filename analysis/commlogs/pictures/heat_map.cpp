#include "analysis/commlogs/pictures/heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/commlogs/pair_matrix.hpp"
#include "analysis/commlogs/pictures/colour_scale.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/picture/layout.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double target_side = 400;  // Side of a field. All lengths are in points.
constexpr double field_gap = 52;     // Gap between the fields.
constexpr double max_row_name_width = 130;
constexpr double fields_top = 86;  // Top of the fields.
constexpr std::size_t max_heat_rows = 512;
// Side of a cell, in points, from which on its value is written into it.
constexpr double min_numbered_cell = 24;
constexpr TextStyle row_name_style{.size = 8.5, .align = Align::right};

struct HeatQuantity {
  std::string title;
  ColourRamp ramp;
  std::vector<double> class_values;
  double unit;  // Factor from values to displayed numbers.
};

// Position of a heat map's upper left corner and side of a cell, in points.
struct HeatField {
  double left, top, cell;

  double x(std::size_t column) const { return left + static_cast<double>(column) * cell; }
  double y(std::size_t row) const { return top + static_cast<double>(row) * cell; }
  double side(const PairMatrix& matrix) const { return x(matrix.size()) - left; }
};

// Text label of a range of consecutive rows of a heat map.
struct RowLabel {
  std::size_t begin, end;
  std::string words;
  std::size_t number;
};

// Labels each row if there is room, otherwise each node, or every 2nd, 4th, ... node.
std::vector<RowLabel> row_labels(const PairMatrix& matrix, double cell) {
  constexpr double room = 10;
  std::vector<RowLabel> labels;
  const bool by_nodes = cell < room;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::uint32_t node = matrix.nodes[i];
    if (!by_nodes)
      labels.push_back({i, i + 1, matrix.names[i], i});
    else if (i > 0 && node == matrix.nodes[i - 1])
      ++labels.back().end;
    else
      labels.push_back({i, i + 1, fmt::format("node {}", node), node});
  }
  const double label_pitch =
      cell * static_cast<double>(matrix.size()) / static_cast<double>(labels.size());
  std::size_t step = 1;
  while (static_cast<double>(step) * label_pitch < room) step *= 2;
  std::vector<RowLabel> sample;
  for (std::size_t i = 0; i < labels.size(); i += step) sample.push_back(labels[i]);
  return sample;
}

// Returns a copy of the matrix in which each cell holds the index of its colour, not of its class.
PairMatrix with_colour_numbers(const PairMatrix& matrix, const HeatQuantity& quantity,
                               const ColourScale& scale) {
  PairMatrix painted = matrix;
  for (std::uint32_t& number : painted.class_of)
    if (number != PairMatrix::itself) number = scale.number_of(quantity.class_values[number]);
  return painted;
}

void draw_numbers_in_cells(Canvas& canvas, const PairMatrix& matrix, const HeatQuantity& quantity,
                           const ColourScale& scale, const HeatField& field) {
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      const std::uint32_t class_number = matrix.at(i, j);
      if (class_number == PairMatrix::itself) continue;
      const double value = quantity.class_values[class_number];
      const Colour background = scale.colour(scale.number_of(value));
      const TextStyle style{.size = std::min(9.0, field.cell * 0.34),
                            .align = Align::centre,
                            .colour = needs_dark_text(background) ? ink : Colour{1, 1, 1}};
      canvas.text(field.x(j) + field.cell / 2, field.y(i) + field.cell / 2 + style.size * 0.36,
                  short_number(value * quantity.unit), style);
    }
}

void draw_cells(Canvas& canvas, const PairMatrix& matrix, const HeatQuantity& quantity,
                const HeatField& field) {
  std::vector<double> values;
  for (const std::uint32_t number : std::set(matrix.class_of.begin(), matrix.class_of.end()))
    if (number != PairMatrix::itself) values.push_back(quantity.class_values[number]);
  if (values.empty()) return;
  const ColourScale scale(quantity.ramp, std::move(values));
  // All blocks of one colour form one path, so that no seams show between them.
  std::optional<std::uint32_t> number;
  const auto fill = [&] {
    if (number) canvas.fill(*number == PairMatrix::itself ? idle_paint : scale.colour(*number));
  };
  for (const CellBlock& block : cut_into_blocks(with_colour_numbers(matrix, quantity, scale))) {
    if (number != block.number) fill();
    number = block.number;
    canvas.rectangle(field.x(block.left), field.y(block.top), field.x(block.right),
                     field.y(block.bottom));
  }
  fill();
  if (field.cell >= min_numbered_cell)
    draw_numbers_in_cells(canvas, matrix, quantity, scale, field);
  const double bottom = field.y(matrix.size());
  scale.draw(canvas, {field.left, bottom + 14, field.x(matrix.size()), bottom + 24}, quantity.unit);
}

// Draws white lines between the cells of different nodes, if a node's cells take enough room.
void draw_borders(Canvas& canvas, const PairMatrix& matrix, const HeatField& field) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 1; i < matrix.size(); ++i)
    if (matrix.nodes[i] != matrix.nodes[i - 1]) borders.push_back(i);
  const double block = field.side(matrix) / static_cast<double>(borders.size() + 1);
  if (block < 6 || borders.size() + 1 == matrix.size()) return;
  const double width = block < 20 ? 0.5 : 1.2;
  const std::size_t end = matrix.size();
  for (const std::size_t border : borders) {
    canvas.line(field.x(border), field.y(0), field.x(border), field.y(end), {1, 1, 1}, width);
    canvas.line(field.x(0), field.y(border), field.x(end), field.y(border), {1, 1, 1}, width);
  }
}

// Labels rows with names or numbers, and columns with numbers, as far as there is room.
void draw_labels(Canvas& canvas, const std::vector<RowLabel>& labels, const HeatField& field,
                 std::optional<double> name_width) {
  constexpr TextStyle number_style{.size = 8, .align = Align::right, .colour = faint_ink};
  constexpr TextStyle column_style{.size = 8, .align = Align::centre, .colour = faint_ink};
  double widest_number = 0;
  for (const RowLabel& label : labels)
    widest_number =
        std::max(widest_number, canvas.text_width(fmt::format("{}", label.number), column_style));
  const double pitch =
      static_cast<double>(labels.back().end) * field.cell / static_cast<double>(labels.size());
  std::size_t step = 1;
  while (static_cast<double>(step) * pitch < widest_number + 4) step *= 2;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const RowLabel& label = labels[i];
    const double middle = static_cast<double>(label.begin + label.end) / 2 * field.cell;
    const std::string number = fmt::format("{}", label.number);
    if (name_width)
      canvas.text(field.left - 6, field.top + middle + 3,
                  canvas.fitted(label.words, *name_width, row_name_style), row_name_style);
    else
      canvas.text(field.left - 6, field.top + middle + 3, number, number_style);
    if (i % step == 0) canvas.text(field.left + middle, field.top - 4, number, column_style);
  }
}

}  // namespace

void draw_heat_map(const PairMatrix& gpu_matrix, std::uint64_t message, const HeatMapWords& words,
                   const std::filesystem::path& file, PictureKind kind) {
  if (!gpu_matrix.is_whole()) throw std::logic_error("a heat map needs a whole matrix");
  const std::size_t gpus = gpu_matrix.size();
  PairMatrix matrix = gpus > max_heat_rows ? by_node(gpu_matrix) : gpu_matrix;
  const std::size_t all_rows = matrix.size();
  matrix = sample_rows(matrix, max_heat_rows);
  std::string details = words.details;
  if (matrix.size() < all_rows) details += fmt::format(", {} of {} rows", matrix.size(), all_rows);

  std::vector<HeatQuantity> quantities;
  quantities.push_back({message > 0 ? fmt::format("Bandwidth of {} (GB/s)", format_bytes(message))
                                    : std::string("Bandwidth (GB/s)"),
                        blue_ramp,
                        {},
                        1e-9});
  quantities.push_back({"Latency (us)", brown_ramp, {}, 1e6});
  for (const PairClass& pair_class : matrix.classes) {
    quantities[0].class_values.push_back(pair_class.reached(message));
    // Latencies are at least 1 ns here, since 0 has no logarithm.
    quantities[1].class_values.push_back(std::max(pair_class.latency, 1e-9));
  }

  // Cells are multiples of half a point, which are whole pixels of a PNG.
  const double cell =
      std::max(0.5, std::round(2 * target_side / static_cast<double>(matrix.size())) / 2);
  const std::vector<RowLabel> labels = row_labels(matrix, cell);
  const double side = cell * static_cast<double>(matrix.size());
  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  double name_width = 0;
  for (const RowLabel& label : labels)
    name_width = std::max(name_width, ruler->text_width(label.words, row_name_style));
  // The width is rounded up, since SVG, PNG and PDF files measure texts slightly differently.
  name_width = std::min(name_width + 3, max_row_name_width);
  const double left = std::ceil(page_margin + name_width + 8);
  const double right = left + 2 * side + field_gap;
  const std::unique_ptr<Canvas> page =
      make_canvas(kind, right + page_margin, fields_top + side + 44 + page_margin);
  Canvas& canvas = *page;
  draw_heading(canvas, left, right, 24, words.title, details);
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const HeatField field{left + static_cast<double>(i) * (side + field_gap), fields_top, cell};
    const HeatQuantity& quantity = quantities[i];
    canvas.text(field.left, 54, quantity.title, {.size = 10.5, .bold = true});
    canvas.text(field.left + side, 54, "rows send, columns receive",
                {.size = 9, .align = Align::right, .colour = faint_ink});
    draw_cells(canvas, matrix, quantity, field);
    draw_borders(canvas, matrix, field);
    draw_labels(canvas, labels, field, i == 0 ? std::optional(name_width) : std::nullopt);
  }
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
