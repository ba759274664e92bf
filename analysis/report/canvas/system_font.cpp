#include "analysis/report/canvas/font.hpp"

namespace pipewright::analysis {

cairo_font_face_t* picture_font(bool bold) {
  static cairo_font_face_t* const regular_face =
      cairo_toy_font_face_create("DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  static cairo_font_face_t* const bold_face =
      cairo_toy_font_face_create("DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
  return bold ? bold_face : regular_face;
}

}  // namespace pipewright::analysis
