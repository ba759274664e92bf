#include "analysis/csv_report.hpp"

#include <fmt/format.h>

#include "analysis/csv_text.hpp"

namespace pipewright::analysis {

std::string csv_summary(std::span<const Summary> runs) {
  std::string text =
      "schedule,device,host,busy_s,start_s,end_s,exposed_communication_s,"
      "peak_in_flight_microbatches,peak_memory_bytes,memory_capacity_bytes,passes,chunks,"
      "engine,p2p,makespan_s\n";
  for (const Summary& run : runs) {
    for (const DeviceSummary& device : run.devices) {
      const std::string capacity =
          device.memory_capacity_bytes == 0 ? "" : fmt::to_string(device.memory_capacity_bytes);
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(run.run.schedule),
                      device.device, csv_field(device.host), device.busy_s, device.start_s,
                      device.end_s, device.exposed.total_s(), device.peak_in_flight,
                      device.peak_memory_bytes, capacity, device.passes, run.run.chunks,
                      csv_field(run.run.engine), csv_field(run.run.p2p), run.makespan_s);
    }
  }
  return text;
}

}  // namespace pipewright::analysis
