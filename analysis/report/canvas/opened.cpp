#include "analysis/report/canvas/functions.hpp"
#include "modules/module.hpp"

namespace pipewright::analysis {

std::unique_ptr<Canvas> make_canvas(PictureKind kind, double width, double height) {
  return modules::table<CanvasFunctions>("canvas").make_canvas(kind, width, height);
}

}  // namespace pipewright::analysis
