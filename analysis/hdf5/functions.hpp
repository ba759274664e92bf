#pragma once

#include "analysis/report/search/results.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/writer.hpp"

namespace pipewright::analysis {

// Functions of the hdf5 module, the part of the program that loads the HDF5 library.
struct Hdf5Functions {
  decltype(&trace::make_trace_output) make_trace_output;
  void (*replay)(const std::filesystem::path& path, trace::Sink& sink);
  decltype(&trace::count_rows) count_rows;
  decltype(&trace::read_trace) read_trace;
  decltype(&analysis::write_results) write_results;
  decltype(&analysis::read_results) read_results;
};

}  // namespace pipewright::analysis
