#include "analysis/job_info.hpp"

#include <fmt/format.h>

#include "analysis/text_table.hpp"

namespace pipewright::analysis {

std::string describe(const JobInfo& job) {
  if (job.model.empty()) return "";
  std::string text = printable(job.model) + (job.gpu.empty() ? "" : " on " + printable(job.gpu));
  const auto add = [&](const char* name, std::uint64_t size, std::uint64_t usual) {
    if (size != usual) text += fmt::format(", {} {}", name, size);
  };
  add("tp", job.tp, 1);
  if (job.sequence_parallel && job.tp > 1) text += ", sp";
  add("cp", job.cp, 1);
  add("ep", job.ep, 1);
  add("pp", job.pp, 1);
  add("dp", job.dp, 1);
  add("zero", job.zero, 0);
  text += fmt::format(", batch {} of {} tokens", job.global_batch, job.sequence);
  add("microbatch", job.microbatch_size, 1);
  if (job.partition != "even") text += ", partition " + printable(job.partition);
  if (job.recompute != "none") text += ", recompute " + printable(job.recompute);
  return text;
}

}  // namespace pipewright::analysis
