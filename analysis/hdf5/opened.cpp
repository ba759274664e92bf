#include "analysis/hdf5/functions.hpp"
#include "modules/module.hpp"

namespace pipewright {
namespace {

const analysis::Hdf5Functions& hdf5() { return modules::table<analysis::Hdf5Functions>("hdf5"); }

}  // namespace

namespace trace {

std::unique_ptr<TraceOutput> make_trace_output(const std::filesystem::path& path) {
  return hdf5().make_trace_output(path);
}

void replay(const std::filesystem::path& path, Sink& sink) { hdf5().replay(path, sink); }

std::uint64_t count_rows(const std::filesystem::path& path) { return hdf5().count_rows(path); }

Trace read_trace(const std::filesystem::path& path) { return hdf5().read_trace(path); }

}  // namespace trace

namespace analysis {

void write_results(const std::filesystem::path& path, const SearchRun& run) {
  hdf5().write_results(path, run);
}

SearchRun read_results(const std::filesystem::path& path) { return hdf5().read_results(path); }

}  // namespace analysis
}  // namespace pipewright
