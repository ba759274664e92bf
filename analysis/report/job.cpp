#include "analysis/report/job.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::string_view between_parts = ", ";

std::vector<std::string_view> parts_of(std::string_view job) {
  std::vector<std::string_view> parts;
  while (!job.empty()) {
    const std::size_t end = std::min(job.find(between_parts), job.size());
    parts.push_back(job.substr(0, end));
    job.remove_prefix(std::min(end + between_parts.size(), job.size()));
  }
  return parts;
}

}  // namespace

std::string describe(const JobInfo& job) {
  if (job.model.empty()) return "";
  std::string text = printable(job.model) + (job.gpu.empty() ? "" : " on " + printable(job.gpu));
  const auto add = [&](const char* name, std::uint64_t size, std::uint64_t usual) {
    if (size != usual) text += fmt::format(", {} {}", name, size);
  };
  const auto add_choice = [&](const char* name, const std::string& choice, const char* usual) {
    if (choice != usual) text += fmt::format(", {} {}", name, printable(choice));
  };
  if (job.tp_by_device.empty())
    add("tp", job.tp, 1);
  else
    text += fmt::format(", tp {}", printable(job.tp_by_device));
  if (job.sequence_parallel && job.tp > 1) text += ", sp";
  add("cp", job.cp, 1);
  add("ep", job.ep, 1);
  if (job.ep > 1) add("etp", job.etp, job.tp);
  add("pp", job.pp, 1);
  add("dp", job.dp, 1);
  add("replicate", job.replicate, 1);
  add("zero", job.zero, 0);
  text += fmt::format(", batch {} of {} tokens", job.global_batch, job.sequence);
  add("microbatch", job.microbatch_size, 1);
  add_choice("documents", job.lengths, "");
  if (job.dispatch != "alltoall") add_choice("dispatch", job.dispatch, "");
  add_choice("experts' tokens", job.routing, "");
  add_choice("partition", job.partition, "even");
  text += ", " + printable(job.precision);
  add_choice("cuda graphs", job.cuda_graphs, "none");
  if (!job.flash_attention) text += ", scores kept";
  add_choice("recompute", job.recompute, "none");
  add_choice("offload", job.offload, "none");
  if (!job.straddling.empty())
    text += fmt::format(", {} across NVLink domains", printable(job.straddling));
  if (!job.untried.empty())
    text += fmt::format(", ~{} outside the cluster's record", printable(job.untried));
  return text;
}

JobParts split_jobs(const std::vector<std::string>& jobs) {
  std::vector<std::vector<std::string_view>> parts;
  for (const std::string& job : jobs) parts.push_back(parts_of(job));
  const auto joined = [&](std::vector<std::string_view> of_job, bool common) {
    std::erase_if(of_job, [&](std::string_view part) {
      return common != std::ranges::all_of(parts, [&](const auto& others) {
               return std::ranges::count(others, part) > 0;
             });
    });
    return printable(fmt::format("{}", fmt::join(of_job, between_parts)));
  };
  JobParts split;
  if (!parts.empty()) split.common = joined(parts.front(), true);
  for (const auto& of_job : parts) split.own.push_back(joined(of_job, false));
  return split;
}

}  // namespace pipewright::analysis
