#pragma once

#include "sim/cluster/network.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/together.hpp"

namespace pipewright::execution {

// Pointers to the functions of the module that is linked with SimGrid.
struct SimgridFunctions {
  decltype(&cluster::load_with_simgrid) load;
  decltype(&execution::simulate) simulate;
  decltype(&execution::get_ready) get_ready;
  decltype(&execution::run_together) run_together;
  decltype(&execution::links_of) links_of;
};

}  // namespace pipewright::execution
