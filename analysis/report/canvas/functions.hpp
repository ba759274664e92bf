#pragma once

#include "analysis/report/canvas/canvas.hpp"

namespace pipewright::analysis {

// Functions of the canvas module, the part of the program that loads cairo.
struct CanvasFunctions {
  decltype(&analysis::make_canvas) make_canvas;
};

}  // namespace pipewright::analysis
