#pragma once

#include "analysis/report/canvas/canvas.hpp"

namespace pipewright::analysis {

// What the part of the program that loads cairo is for.
struct CanvasFunctions {
  decltype(&analysis::make_canvas) make_canvas;
};

}  // namespace pipewright::analysis
