#pragma once

#include "sim/goodput/simulate.hpp"

namespace pipewright::goodput {

// Pointers to the functions of the goodput module, which is loaded on demand.
struct GoodputFunctions {
  decltype(&goodput::simulate) simulate;
};

}  // namespace pipewright::goodput
