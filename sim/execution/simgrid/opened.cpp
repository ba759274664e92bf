#include "modules/module.hpp"
#include "sim/execution/simgrid/functions.hpp"

namespace pipewright {
namespace {

const execution::SimgridFunctions& simgrid() {
  return modules::table<execution::SimgridFunctions>("simgrid");
}

}  // namespace

std::shared_ptr<cluster::Network> cluster::load_with_simgrid(const PlatformFile& file) {
  return simgrid().load(file);
}

execution::Reduction execution::simulate(const Job& job, trace::Sink& sink) {
  return simgrid().simulate(job, sink);
}

void execution::load_simulator() { simgrid(); }

execution::JointResult execution::run_together(std::span<const JobStart> jobs,
                                               std::uint32_t enough) {
  return simgrid().run_together(jobs, enough);
}

execution::LinksOfJob execution::links_of(const Job& job) { return simgrid().links_of(job); }

void execution::get_ready(const cluster::Cluster& cluster) { simgrid().get_ready(cluster); }

}  // namespace pipewright
