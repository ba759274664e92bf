#pragma once

#include <cairo.h>

namespace pipewright::analysis {

// The face in which pictures have their text, which lives as long as the process. DejaVu Sans is
// part of the program if the build found its files, so that pictures are the same on every machine.
// A program without them asks the system for the font by its name.
cairo_font_face_t* picture_font(bool bold);

}  // namespace pipewright::analysis
