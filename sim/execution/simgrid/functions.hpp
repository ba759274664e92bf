#pragma once

#include "sim/cluster/network.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::execution {

// What the part of the program that loads SimGrid is for.
struct SimgridFunctions {
  decltype(&cluster::load_with_simgrid) load;
  decltype(&execution::simulate) simulate;
  decltype(&execution::get_ready) get_ready;
};

}  // namespace pipewright::execution
