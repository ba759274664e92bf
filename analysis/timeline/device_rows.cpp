#include "analysis/timeline/device_rows.hpp"

namespace pipewright::analysis {

std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace) {
  std::vector<std::vector<const trace::PassRow*>> devices(trace.devices.size());
  for (const trace::PassRow& pass : trace.passes) devices.at(pass.device).push_back(&pass);
  return devices;
}

}  // namespace pipewright::analysis
