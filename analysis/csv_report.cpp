#include "analysis/csv_report.hpp"

#include <fmt/format.h>

#include "analysis/csv_text.hpp"

namespace pipewright::analysis {

namespace {

std::string job_fields(const Summary& run) {
  if (!run.job) return ",,,,,,,,,,,";
  const JobInfo& job = *run.job;
  const bool model = !job.model.empty();
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(job.model),
                     csv_field(job.gpu), job.tp, job.cp, job.ep, job.dp, job.pp, job.zero,
                     model ? fmt::to_string(job.global_batch) : "",
                     model ? fmt::to_string(job.microbatch_size) : "",
                     model ? fmt::to_string(job.sequence) : "", csv_field(job.recompute));
}

}  // namespace

std::string csv_summary(std::span<const Summary> runs) {
  std::string text =
      "schedule,device,host,busy_s,start_s,end_s,exposed_communication_s,"
      "peak_in_flight_microbatches,peak_memory_bytes,memory_capacity_bytes,passes,chunks,"
      "engine,p2p,makespan_s,model,gpu,tp,cp,ep,dp,pp,zero,global_batch_samples,"
      "microbatch_samples,sequence_tokens,recompute\n";
  for (const Summary& run : runs) {
    for (const DeviceSummary& device : run.devices) {
      const std::string capacity =
          device.memory_capacity_bytes == 0 ? "" : fmt::to_string(device.memory_capacity_bytes);
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                          csv_field(run.run.schedule), device.device, csv_field(device.host),
                          device.busy_s, device.start_s, device.end_s, device.exposed.total_s(),
                          device.peak_in_flight, device.peak_memory_bytes, capacity, device.passes,
                          run.run.chunks, csv_field(run.run.engine), csv_field(run.run.p2p),
                          run.makespan_s, job_fields(run));
    }
  }
  return text;
}

}  // namespace pipewright::analysis
