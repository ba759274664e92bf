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

constexpr double wanted_side = 400;  // of a field; points, as all lengths here
constexpr double gap = 52;           // between the fields
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

// Where the cells are.
struct Field {
  double left, top, cell;

  double x(std::size_t column) const { return left + static_cast<double>(column) * cell; }
  double y(std::size_t row) const { return top + static_cast<double>(row) * cell; }
  double side(const PairMatrix& matrix) const { return x(matrix.size()) - left; }
};

// A label for some rows that stand together.
struct Label {
  std::size_t begin, end;
  std::string words;
  std::size_t number;
};

// Each row, if there is room; else each node, or as many of them as there is room for.
std::vector<Label> labels_of(const PairMatrix& matrix, double cell) {
  constexpr double room = 10;
  std::vector<Label> labels;
  const bool nodes = cell < room;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::uint32_t node = matrix.nodes[i];
    if (!nodes)
      labels.push_back({i, i + 1, matrix.names[i], i});
    else if (i > 0 && node == matrix.nodes[i - 1])
      ++labels.back().end;
    else
      labels.push_back({i, i + 1, fmt::format("node {}", node), node});
  }
  const double each =
      cell * static_cast<double>(matrix.size()) / static_cast<double>(labels.size());
  std::size_t step = 1;
  while (static_cast<double>(step) * each < room) step *= 2;
  std::vector<Label> kept;
  for (std::size_t i = 0; i < labels.size(); i += step) kept.push_back(labels[i]);
  return kept;
}

// The matrix with numbers of colours in place of classes.
PairMatrix coloured(const PairMatrix& matrix, const Quantity& quantity, const ColourScale& scale) {
  PairMatrix painted = matrix;
  for (std::uint32_t& number : painted.class_of)
    if (number != PairMatrix::itself) number = scale.number_of(quantity.of_class[number]);
  return painted;
}

void draw_numbers_in_cells(Canvas& canvas, const PairMatrix& matrix, const Quantity& quantity,
                           const ColourScale& scale, const Field& field) {
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      const std::uint32_t here = matrix.at(i, j);
      if (here == PairMatrix::itself) continue;
      const double value = quantity.of_class[here];
      const Colour ground = scale.colour(scale.number_of(value));
      const TextStyle style{.size = std::min(9.0, field.cell * 0.34),
                            .align = Align::centre,
                            .colour = wants_dark_text(ground) ? ink : Colour{1, 1, 1}};
      canvas.text(field.x(j) + field.cell / 2, field.y(i) + field.cell / 2 + style.size * 0.36,
                  short_number(value * quantity.unit), style);
    }
}

void draw_cells(Canvas& canvas, const PairMatrix& matrix, const Quantity& quantity,
                const Field& field) {
  std::vector<double> values;
  for (const std::uint32_t number : std::set(matrix.class_of.begin(), matrix.class_of.end()))
    if (number != PairMatrix::itself) values.push_back(quantity.of_class[number]);
  if (values.empty()) return;
  const ColourScale scale(quantity.ramp, std::move(values));
  // All blocks of one colour are one path, so that no seams show between them.
  std::optional<std::uint32_t> number;
  const auto fill = [&] {
    if (number) canvas.fill(*number == PairMatrix::itself ? idle_paint : scale.colour(*number));
  };
  for (const CellBlock& block : blocks_of(coloured(matrix, quantity, scale))) {
    if (number != block.number) fill();
    number = block.number;
    canvas.rectangle(field.x(block.left), field.y(block.top), field.x(block.right),
                     field.y(block.bottom));
  }
  fill();
  if (field.cell >= written) draw_numbers_in_cells(canvas, matrix, quantity, scale, field);
  const double bottom = field.y(matrix.size());
  scale.draw(canvas, {field.left, bottom + 14, field.x(matrix.size()), bottom + 24}, quantity.unit);
}

// White lines between nodes, where these are large enough.
void draw_borders(Canvas& canvas, const PairMatrix& matrix, const Field& field) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 1; i < matrix.size(); ++i)
    if (matrix.nodes[i] != matrix.nodes[i - 1]) borders.push_back(i);
  const double block = field.side(matrix) / static_cast<double>(borders.size() + 1);
  if (block < 6 || borders.size() + 1 == matrix.size()) return;
  const double width = block < 20 ? 0.5 : 1.2;
  const std::size_t end = matrix.size();
  for (const std::size_t at : borders) {
    canvas.line(field.x(at), field.y(0), field.x(at), field.y(end), {1, 1, 1}, width);
    canvas.line(field.x(0), field.y(at), field.x(end), field.y(at), {1, 1, 1}, width);
  }
}

// Of rows names, or numbers; of columns numbers, as far as there is room.
void draw_labels(Canvas& canvas, const std::vector<Label>& labels, const Field& field,
                 std::optional<double> names) {
  constexpr TextStyle number_style{.size = 8, .align = Align::right, .colour = faint_ink};
  constexpr TextStyle column_style{.size = 8, .align = Align::centre, .colour = faint_ink};
  double widest = 0;
  for (const Label& label : labels)
    widest = std::max(widest, canvas.text_width(fmt::format("{}", label.number), column_style));
  const double pitch =
      static_cast<double>(labels.back().end) * field.cell / static_cast<double>(labels.size());
  std::size_t step = 1;
  while (static_cast<double>(step) * pitch < widest + 4) step *= 2;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const double middle = static_cast<double>(label.begin + label.end) / 2 * field.cell;
    const std::string number = fmt::format("{}", label.number);
    if (names)
      canvas.text(field.left - 6, field.top + middle + 3,
                  canvas.fitted(label.words, *names, name_style), name_style);
    else
      canvas.text(field.left - 6, field.top + middle + 3, number, number_style);
    if (i % step == 0) canvas.text(field.left + middle, field.top - 4, number, column_style);
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

  // Whole half points, which are whole pixels of a PNG.
  const double cell =
      std::max(0.5, std::round(2 * wanted_side / static_cast<double>(matrix.size())) / 2);
  const std::vector<Label> labels = labels_of(matrix, cell);
  const double side = cell * static_cast<double>(matrix.size());
  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  double names = 0;
  for (const Label& label : labels)
    names = std::max(names, ruler->text_width(label.words, name_style));
  names = std::min(names + 3, widest_name);  // kinds of files round widths differently
  const double left = std::ceil(page_margin + names + 8);
  const double right = left + 2 * side + gap;
  const std::unique_ptr<Canvas> page =
      make_canvas(kind, right + page_margin, top + side + 44 + page_margin);
  Canvas& canvas = *page;
  draw_heading(canvas, left, right, 24, words.title, details);
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const Field field{left + static_cast<double>(i) * (side + gap), top, cell};
    const Quantity& quantity = quantities[i];
    canvas.text(field.left, 54, quantity.title, {.size = 10.5, .bold = true});
    canvas.text(field.left + side, 54, "rows send, columns receive",
                {.size = 9, .align = Align::right, .colour = faint_ink});
    draw_cells(canvas, matrix, quantity, field);
    draw_borders(canvas, matrix, field);
    draw_labels(canvas, labels, field, i == 0 ? std::optional(names) : std::nullopt);
  }
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
