#pragma once

#include <cairo.h>

namespace pipewright::analysis {

// Returns the font face for the text of pictures, which lives as long as the process. If the build
// found the files of DejaVu Sans, they are part of the program, so that pictures are the same on
// every machine. Otherwise the font is a system font of this name.
cairo_font_face_t* picture_font(bool bold);

}  // namespace pipewright::analysis
