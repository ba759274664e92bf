#include <stdexcept>

#include <cairo-ft.h>

#include "analysis/report/canvas/font.hpp"

// The assembler includes the font files of the folder PIPEWRIGHT_FONTS.
asm(".pushsection .rodata\n"
    ".global pipewright_regular_font, pipewright_regular_font_end\n"
    ".global pipewright_bold_font, pipewright_bold_font_end\n"
    ".balign 16\n"
    "pipewright_regular_font: .incbin \"" PIPEWRIGHT_FONTS
    "/DejaVuSans.ttf\"\n"
    "pipewright_regular_font_end:\n"
    ".balign 16\n"
    "pipewright_bold_font: .incbin \"" PIPEWRIGHT_FONTS
    "/DejaVuSans-Bold.ttf\"\n"
    "pipewright_bold_font_end:\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const unsigned char pipewright_regular_font[];
[[gnu::visibility("hidden")]] extern const unsigned char pipewright_regular_font_end[];
[[gnu::visibility("hidden")]] extern const unsigned char pipewright_bold_font[];
[[gnu::visibility("hidden")]] extern const unsigned char pipewright_bold_font_end[];
}

namespace pipewright::analysis {
namespace {

FT_Library font_library() {
  static const FT_Library library = [] {
    FT_Library made = nullptr;
    if (FT_Init_FreeType(&made) != 0) throw std::logic_error("FreeType cannot be initialised");
    return made;
  }();
  return library;
}

cairo_font_face_t* read_font(const unsigned char* begin, const unsigned char* end) {
  FT_Face face = nullptr;
  if (FT_New_Memory_Face(font_library(), begin, end - begin, 0, &face) != 0)
    throw std::logic_error("FreeType cannot read the font of the program");
  return cairo_ft_font_face_create_for_ft_face(face, 0);
}

}  // namespace

cairo_font_face_t* picture_font(bool bold) {
  if (bold) {
    static cairo_font_face_t* const face =
        read_font(pipewright_bold_font, pipewright_bold_font_end);
    return face;
  }
  static cairo_font_face_t* const face =
      read_font(pipewright_regular_font, pipewright_regular_font_end);
  return face;
}

}  // namespace pipewright::analysis
