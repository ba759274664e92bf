#include "analysis/report/canvas/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <utility>

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include "analysis/report/canvas/font.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

// Resolution of PNG files: sharp on high-density screens and in print.
constexpr double pixels_per_point = 2;
// Largest side of a PNG file; cairo itself is limited to 32767.
constexpr double max_side_pixels = 30000;

cairo_status_t append_to_string(void* bytes, const unsigned char* data, unsigned int size) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), size);
  return CAIRO_STATUS_SUCCESS;
}

void check_cairo_status(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::logic_error(fmt::format("cairo: {}", cairo_status_to_string(status)));
}

double png_scale(double width, double height) {
  return std::min(pixels_per_point, max_side_pixels / std::max(width, height));
}

cairo_surface_t* make_surface(PictureKind kind, double width, double height, std::string& bytes) {
  if (kind == PictureKind::svg) {
    cairo_surface_t* svg =
        cairo_svg_surface_create_for_stream(append_to_string, &bytes, width, height);
    cairo_svg_surface_set_document_unit(svg, CAIRO_SVG_UNIT_PX);
    return svg;
  }
  if (kind == PictureKind::pdf) {
    cairo_surface_t* pdf =
        cairo_pdf_surface_create_for_stream(append_to_string, &bytes, width, height);
    // PDF files get fixed dates, so that the same picture always gives the same bytes.
    for (const auto date : {CAIRO_PDF_METADATA_CREATE_DATE, CAIRO_PDF_METADATA_MOD_DATE})
      cairo_pdf_surface_set_metadata(pdf, date, "2000-01-01T00:00:00Z");
    return pdf;
  }
  const double scale = png_scale(width, height);
  cairo_surface_t* image =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width * scale)),
                                 static_cast<int>(std::ceil(height * scale)));
  cairo_surface_set_device_scale(image, scale, scale);
  return image;
}

// Removes the running number of the surface, which cairo writes into SVG files and which depends on
// how many pictures the process has drawn.
void remove_surface_number(std::string& svg) {
  constexpr std::string_view opening = "<g id=\"surface";
  const std::size_t start = svg.find(opening);
  if (start == std::string::npos) return;
  const std::size_t number = start + opening.size();
  svg.erase(number, svg.find('"', number) - number);
}

class CairoCanvas final : public Canvas {
 public:
  CairoCanvas(PictureKind kind, double width, double height);

  void rectangle(double left, double top, double right, double bottom) override;
  void polygon(std::span<const Point> corners) override;
  void fill(Colour colour) override;
  void outline(Colour colour, double width) override;
  void line(double x0, double y0, double x1, double y1, Colour colour, double width) override;
  void path(std::span<const Point> points, Colour colour, double width) override;
  void dashes(double x0, double y0, double x1, double y1, Colour colour, double width) override;
  void dot(double x, double y, double radius, Colour colour) override;
  void hatch(double left, double top, double right, double bottom) override;
  void text(double x, double y, std::string_view words, const TextStyle& style) override;
  double text_width(std::string_view words, const TextStyle& style) override;
  std::string fitted(std::string_view words, double width, const TextStyle& style) override;
  std::string finish() override;

 private:
  struct Destroy {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  void set_colour(Colour colour);
  void set_font(const TextStyle& style);

  PictureKind kind_;
  std::string bytes_;  // cairo appends to this string while the surface lives.
  std::unique_ptr<cairo_surface_t, Destroy> surface_;
  std::unique_ptr<cairo_t, Destroy> context_;
};

CairoCanvas::CairoCanvas(PictureKind kind, double width, double height)
    : kind_(kind),
      surface_(make_surface(kind, width, height, bytes_)),
      context_(cairo_create(surface_.get())) {
  check_cairo_status(cairo_status(context_.get()));
  set_colour({1, 1, 1});
  cairo_paint(context_.get());
}

void CairoCanvas::set_colour(Colour colour) {
  cairo_set_source_rgb(context_.get(), colour.red, colour.green, colour.blue);
}

void CairoCanvas::rectangle(double left, double top, double right, double bottom) {
  cairo_rectangle(context_.get(), left, top, right - left, bottom - top);
}

void CairoCanvas::polygon(std::span<const Point> corners) {
  cairo_new_sub_path(context_.get());
  for (const Point& corner : corners) cairo_line_to(context_.get(), corner.x, corner.y);
  cairo_close_path(context_.get());
}

void CairoCanvas::fill(Colour colour) {
  set_colour(colour);
  cairo_fill(context_.get());
}

void CairoCanvas::outline(Colour colour, double width) {
  set_colour(colour);
  cairo_set_line_width(context_.get(), width);
  cairo_stroke(context_.get());
}

void CairoCanvas::line(double x0, double y0, double x1, double y1, Colour colour, double width) {
  cairo_move_to(context_.get(), x0, y0);
  cairo_line_to(context_.get(), x1, y1);
  outline(colour, width);
}

void CairoCanvas::path(std::span<const Point> points, Colour colour, double width) {
  cairo_new_sub_path(context_.get());
  for (const Point& point : points) cairo_line_to(context_.get(), point.x, point.y);
  outline(colour, width);
}

void CairoCanvas::dashes(double x0, double y0, double x1, double y1, Colour colour, double width) {
  constexpr std::array<double, 2> on_and_off{5, 4};
  cairo_set_dash(context_.get(), on_and_off.data(), on_and_off.size(), 0);
  line(x0, y0, x1, y1, colour, width);
  cairo_set_dash(context_.get(), nullptr, 0, 0);
}

void CairoCanvas::dot(double x, double y, double radius, Colour colour) {
  cairo_new_sub_path(context_.get());
  cairo_arc(context_.get(), x, y, radius, 0, 2 * std::numbers::pi);
  fill(colour);
}

void CairoCanvas::hatch(double left, double top, double right, double bottom) {
  constexpr double spacing = 4;
  rectangle(left, top, right, bottom);
  fill(mix(idle_paint, ink, 0.12));
  if (right - left < spacing) return;
  const double height = bottom - top;
  cairo_save(context_.get());
  rectangle(left, top, right, bottom);
  cairo_clip(context_.get());
  // Hatch lines lie on one grid for the whole page, so that they continue in neighbouring areas.
  const double first = std::floor((left + top) / spacing) * spacing;
  for (double sum = first; sum < right + bottom + spacing; sum += spacing) {
    cairo_move_to(context_.get(), sum - top, top);
    cairo_line_to(context_.get(), sum - top - height, bottom);
  }
  outline(mix(idle_paint, ink, 0.6), 0.7);
  cairo_restore(context_.get());
}

void CairoCanvas::set_font(const TextStyle& style) {
  cairo_set_font_face(context_.get(), picture_font(style.bold));
  cairo_set_font_size(context_.get(), style.size);
}

void CairoCanvas::text(double x, double y, std::string_view words, const TextStyle& style) {
  const double width = style.align == Align::left ? 0 : text_width(words, style);
  set_font(style);
  set_colour(style.colour);
  cairo_move_to(context_.get(), x - (style.align == Align::centre ? width / 2 : width), y);
  cairo_show_text(context_.get(), drawable(words).c_str());
}

double CairoCanvas::text_width(std::string_view words, const TextStyle& style) {
  set_font(style);
  cairo_text_extents_t extents;
  cairo_text_extents(context_.get(), drawable(words).c_str(), &extents);
  return extents.x_advance;
}

std::string CairoCanvas::fitted(std::string_view words, double width, const TextStyle& style) {
  std::string text = drawable(words);
  if (text_width(text, style) <= width) return text;
  constexpr const char* ellipsis = "\u2026";
  while (!text.empty() && text_width(text + ellipsis, style) > width) drop_last_character(text);
  return text + ellipsis;
}

std::string CairoCanvas::finish() {
  check_cairo_status(cairo_status(context_.get()));
  context_.reset();
  if (kind_ == PictureKind::png)
    check_cairo_status(
        cairo_surface_write_to_png_stream(surface_.get(), append_to_string, &bytes_));
  cairo_surface_finish(surface_.get());
  check_cairo_status(cairo_surface_status(surface_.get()));
  surface_.reset();
  if (kind_ == PictureKind::svg) remove_surface_number(bytes_);
  return std::move(bytes_);
}

}  // namespace

std::unique_ptr<Canvas> make_canvas(PictureKind kind, double width, double height) {
  return std::make_unique<CairoCanvas>(kind, width, height);
}

}  // namespace pipewright::analysis
