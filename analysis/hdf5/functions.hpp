#pragma once

#include "analysis/report/search/results.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/writer.hpp"

namespace pipewright::analysis {

// What the part of the program that loads HDF5 is for.
struct Hdf5Functions {
  decltype(&trace::make_trace_output) make_trace_output;
  void (*replay)(const std::filesystem::path& path, trace::Sink& sink);
  decltype(&trace::count_rows) count_rows;
  decltype(&trace::read_trace) read_trace;
  decltype(&analysis::write_results) write_results;
  decltype(&analysis::read_results) read_results;
};

}  // namespace pipewright::analysis
