#pragma once

#include "sim/goodput/simulate.hpp"

namespace pipewright::goodput {

// What this part of the program is for.
struct GoodputFunctions {
  decltype(&goodput::simulate) simulate;
};

}  // namespace pipewright::goodput
