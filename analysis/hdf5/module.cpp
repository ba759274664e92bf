#include "analysis/hdf5/functions.hpp"

extern "C" const void* pipewright_module() {
  using namespace pipewright;
  static constexpr analysis::Hdf5Functions functions{.make_trace_output = trace::make_trace_output,
                                                     .replay = trace::replay,
                                                     .count_rows = trace::count_rows,
                                                     .read_trace = trace::read_trace,
                                                     .write_results = analysis::write_results,
                                                     .read_results = analysis::read_results};
  return &functions;
}
