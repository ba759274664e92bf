#include "analysis/measured/launched_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/measured/kernel_profile.hpp"

namespace pipewright::analysis {
namespace {

// Returns true for calls of the CUDA or HIP runtime that start kernels, singly or as a graph.
bool is_kernel_start(std::string_view call) {
  for (const std::string_view part : {"LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch"})
    if (call.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

void LaunchedKernels::take(const ChromeEvent& event) {
  if (!event.correlation || !event.start || !std::isfinite(*event.start)) return;
  const bool is_call = event.category == "cuda_runtime" || event.category == "cuda_driver";
  if (is_call && is_kernel_start(event.name)) {
    launches_[event.process].push_back({*event.start, *event.correlation});
    is_sorted_ = false;
  }
  const double length = event.duration.value_or(0);
  if (event.category != "kernel" || !std::isfinite(length) || length < 0) return;
  const auto [entry, is_new] = is_communication_.try_emplace(event.name);
  if (is_new) entry->second = work_of(event.name) == KernelWork::communication;
  if (entry->second) return;
  const auto stream =
      streams_.try_emplace({event.process, event.thread}, streams_.size()).first->second;
  kernels_.push_back({*event.correlation, stream, {*event.start, *event.start + length}});
  is_sorted_ = false;
}

void LaunchedKernels::sort() {
  if (is_sorted_) return;
  for (auto& [process, launches] : launches_) std::ranges::sort(launches, {}, &Launch::start_us);
  std::ranges::sort(kernels_, {}, &Kernel::correlation);
  is_sorted_ = true;
}

std::vector<std::optional<TimeWindow>> LaunchedKernels::windows_of(
    std::span<const TimeWindow> windows, const std::string& process) {
  std::vector<std::optional<TimeWindow>> result(windows.size());
  const auto launches = launches_.find(process);
  if (launches_.size() != 1 || launches == launches_.end()) return result;
  sort();
  std::vector<std::map<std::size_t, TimeWindow>> windows_by_stream(windows.size());  // By stream.
  std::map<std::size_t, double> busy;  // Busy time of each stream.
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto launch =
        std::ranges::lower_bound(launches->second, windows[i].start_us, {}, &Launch::start_us);
    for (; launch != launches->second.end() && launch->start_us < windows[i].end_us; ++launch)
      for (const Kernel& kernel :
           std::ranges::equal_range(kernels_, launch->correlation, {}, &Kernel::correlation)) {
        TimeWindow& window =
            windows_by_stream[i].try_emplace(kernel.stream, kernel.window).first->second;
        window.start_us = std::min(window.start_us, kernel.window.start_us);
        window.end_us = std::max(window.end_us, kernel.window.end_us);
        busy[kernel.stream] += kernel.window.end_us - kernel.window.start_us;
      }
  }
  if (busy.empty()) return result;
  const std::size_t stream =
      std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; })->first;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (const auto window = windows_by_stream[i].find(stream); window != windows_by_stream[i].end())
      result[i] = window->second;
  return result;
}

}  // namespace pipewright::analysis
