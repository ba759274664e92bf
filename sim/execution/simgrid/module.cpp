#include "sim/execution/simgrid/functions.hpp"

extern "C" const void* pipewright_module() {
  using namespace pipewright;
  static constexpr execution::SimgridFunctions functions{.load = cluster::load_with_simgrid,
                                                         .simulate = execution::simulate,
                                                         .get_ready = execution::get_ready,
                                                         .run_together = execution::run_together,
                                                         .links_of = execution::links_of};
  return &functions;
}
