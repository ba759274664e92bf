#include "analysis/measured/launched_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/measured/kernel_profile.hpp"

namespace pipewright::analysis {
namespace {

// A call of the CUDA or HIP runtime that starts kernels, one by one or a graph of them.
bool is_launch(std::string_view call) {
  for (const std::string_view part : {"LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch"})
    if (call.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

void LaunchedKernels::take(const ChromeEvent& event) {
  if (!event.correlation || !event.start || !std::isfinite(*event.start)) return;
  const bool call = event.category == "cuda_runtime" || event.category == "cuda_driver";
  if (call && is_launch(event.name)) {
    launches_[event.process].push_back({*event.start, *event.correlation});
    sorted_ = false;
  }
  const double length = event.duration.value_or(0);
  if (event.category != "kernel" || !std::isfinite(length) || length < 0) return;
  const auto [known, is_new] = communicates_.try_emplace(event.name);
  if (is_new) known->second = work_of(event.name) == KernelWork::communication;
  if (known->second) return;
  const auto stream =
      streams_.try_emplace({event.process, event.thread}, streams_.size()).first->second;
  kernels_.push_back({*event.correlation, stream, {*event.start, *event.start + length}});
  sorted_ = false;
}

void LaunchedKernels::sort() {
  if (sorted_) return;
  for (auto& [process, launches] : launches_) std::ranges::sort(launches, {}, &Launch::start_us);
  std::ranges::sort(kernels_, {}, &Kernel::correlation);
  sorted_ = true;
}

std::vector<std::optional<TimeWindow>> LaunchedKernels::within(std::span<const TimeWindow> windows,
                                                               const std::string& process) {
  std::vector<std::optional<TimeWindow>> result(windows.size());
  const auto launches = launches_.find(process);
  if (launches_.size() != 1 || launches == launches_.end()) return result;
  sort();
  std::vector<std::map<std::size_t, TimeWindow>> ran(windows.size());  // by stream
  std::map<std::size_t, double> busy;                                  // of a stream
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto launch =
        std::ranges::lower_bound(launches->second, windows[i].start_us, {}, &Launch::start_us);
    for (; launch != launches->second.end() && launch->start_us < windows[i].end_us; ++launch)
      for (const Kernel& kernel :
           std::ranges::equal_range(kernels_, launch->correlation, {}, &Kernel::correlation)) {
        TimeWindow& window = ran[i].try_emplace(kernel.stream, kernel.ran).first->second;
        window.start_us = std::min(window.start_us, kernel.ran.start_us);
        window.end_us = std::max(window.end_us, kernel.ran.end_us);
        busy[kernel.stream] += kernel.ran.end_us - kernel.ran.start_us;
      }
  }
  if (busy.empty()) return result;
  const std::size_t stream =
      std::ranges::max_element(busy, {}, [](const auto& one) { return one.second; })->first;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (const auto own = ran[i].find(stream); own != ran[i].end()) result[i] = own->second;
  return result;
}

}  // namespace pipewright::analysis
