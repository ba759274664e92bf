#include "sim/execution/common_window.hpp"

#include <algorithm>

namespace pipewright::execution {

CommonWindow::CommonWindow(const std::vector<Member>& jobs, std::uint32_t enough)
    : enough_(enough) {
  for (const Member& job : jobs) jobs_.push_back({.member = job, .endings = {}, .ends = {}});
}

bool CommonWindow::enter(std::size_t number, std::uint32_t iteration) {
  Job& job = jobs_[number];
  if (!is_over_) job.entered = std::max(job.entered, iteration);
  return iteration <= job.entered;
}

void CommonWindow::ended(std::size_t number, std::uint32_t iteration, double end) {
  if (is_over_) return;
  Job& job = jobs_[number];
  if (job.endings.size() <= iteration) job.endings.resize(iteration + 1);
  Ending& ending = job.endings[iteration];
  ++ending.device_copies;
  ending.end = std::max(ending.end, end);
  const std::size_t ends_before = job.ends.size();
  while (job.ends.size() < job.endings.size() &&
         job.endings[job.ends.size()].device_copies == job.member.device_copies)
    job.ends.push_back(job.endings[job.ends.size()].end);
  if (job.ends.size() == ends_before || !is_open()) return;
  is_over_ = true;
  for (std::size_t member = 0; member < jobs_.size(); ++member)
    is_over_ = is_over_ && has_enough(member);
}

bool CommonWindow::is_open() const {
  return std::ranges::none_of(jobs_, [](const Job& job) { return job.ends.empty(); });
}

std::size_t CommonWindow::first(std::size_t number) const {
  double opening = 0;
  for (const Job& job : jobs_) opening = std::max(opening, job.member.offset + job.ends.front());
  constexpr double rounding = 1 - 1e-9;
  const Job& job = jobs_[number];
  const auto it = std::ranges::find_if(
      job.ends, [&](double end) { return job.member.offset + end >= rounding * opening; });
  return static_cast<std::size_t>(it - job.ends.begin());
}

bool CommonWindow::has_enough(std::size_t number) const {
  return jobs_[number].ends.size() > first(number) + enough_;
}

}  // namespace pipewright::execution
