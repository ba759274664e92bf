#include "sim/goodput/simgrid/functions.hpp"

extern "C" const void* pipewright_module() {
  using namespace pipewright;
  static constexpr goodput::GoodputFunctions functions{.simulate = goodput::simulate};
  return &functions;
}
