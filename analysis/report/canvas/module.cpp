#include "analysis/report/canvas/functions.hpp"

extern "C" const void* pipewright_module() {
  using namespace pipewright;
  static constexpr analysis::CanvasFunctions functions{.make_canvas = analysis::make_canvas};
  return &functions;
}
