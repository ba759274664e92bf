#include "analysis/measured/kernel_profile.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

struct KernelMark {
  KernelWork work;
  std::string_view part;  // Part of a kernel's name, in lower case.
};

// Parts of kernel names that reveal the work of a kernel. The first match in this order counts,
// since names of attention and communication kernels may also contain parts of names of matrix
// products.
constexpr std::array kernel_marks{
    KernelMark{KernelWork::communication, "nccl"},
    KernelMark{KernelWork::communication, "rccl"},
    KernelMark{KernelWork::communication, "nvshmem"},
    KernelMark{KernelWork::communication, "deep_ep"},
    KernelMark{KernelWork::communication, "userbuffers"},
    KernelMark{KernelWork::optimizer, "multi_tensor"},
    KernelMark{KernelWork::optimizer, "multitensor"},
    KernelMark{KernelWork::optimizer, "adam"},
    KernelMark{KernelWork::attention, "flash"},
    KernelMark{KernelWork::attention, "fmha"},
    KernelMark{KernelWork::attention, "sdpa"},
    KernelMark{KernelWork::attention, "attn_fwd"},
    KernelMark{KernelWork::attention, "attn_bwd"},
    KernelMark{KernelWork::attention, "bwd_kernel_dk"},  // AOTriton: dk_dv, dq
    KernelMark{KernelWork::attention, "bwd_kernel_dq"},
    KernelMark{KernelWork::products, "gemm"},
    KernelMark{KernelWork::products, "nvjet"},
    KernelMark{KernelWork::products, "cijk_"},
    KernelMark{KernelWork::products, "_s16816"},
    KernelMark{KernelWork::products, "xmma"},
    KernelMark{KernelWork::products, "splitkreduce"},
    KernelMark{KernelWork::products, "matmul"},
};

bool name_contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_profiler_step(const std::string& name) { return name.starts_with("ProfilerStep#"); }

// Classifies runtime calls of the host (CUDA or HIP) by name: launches of kernels and waits.
bool is_kernel_launch(std::string_view call) {
  return name_contains(call, "LaunchKernel") || name_contains(call, "LaunchCooperativeKernel");
}
bool is_host_wait(std::string_view call) {
  const bool is_blocking_copy = name_contains(call, "Memcpy") && !name_contains(call, "Async");
  return name_contains(call, "Synchronize") || is_blocking_copy;
}

// A kernel launch, or a wait for the GPU. Times are in microseconds.
struct HostCall {
  double start = 0;
  double length = 0;
  bool is_launch = false;
};

// Longest gap between two launches, in microseconds, that counts as launch time. Longer pauses have
// other causes, such as loading data or writing a log.
constexpr double max_launch_gap = 1000;

class KernelCollector {
 public:
  explicit KernelCollector(KernelProfile& profile) : profile_(profile) {}

  void take(const ChromeEvent& event, const std::function<std::string()>& location) {
    if (event.phase != "X") return;
    if (is_profiler_step(event.name) && event.category != "gpu_user_annotation")
      steps_.insert(event.name);
    if (event.category == "kernel") return take_kernel(event, location);
    if (event.category != "cuda_runtime" && event.category != "cuda_driver") return;
    const bool is_launch = is_kernel_launch(event.name);
    if ((!is_launch && !is_host_wait(event.name)) || !event.start) return;
    calls_[{event.process, event.thread}].push_back(
        {*event.start, std::max(0.0, event.duration.value_or(0)), is_launch});
  }

  void finish() {
    profile_.steps = static_cast<std::uint32_t>(steps_.size());
    std::vector<double> lengths;
    for (const auto& [thread, calls] : calls_)
      for (const HostCall& call : calls)
        if (call.is_launch) lengths.push_back(call.length);
    if (lengths.empty()) return;
    const double median_length = quantile(std::move(lengths), 0.5);
    double sum = 0;
    std::size_t gaps = 0;
    for (auto& [thread, calls] : calls_) {
      std::ranges::sort(calls, {}, &HostCall::start);
      for (std::size_t i = 1; i < calls.size(); ++i) {
        const HostCall& previous = calls[i - 1];
        if (!previous.is_launch || !calls[i].is_launch) continue;
        const double gap =
            calls[i].start - previous.start - std::max(0.0, previous.length - median_length);
        if (gap > max_launch_gap) continue;
        sum += gap;
        ++gaps;
      }
    }
    constexpr double microsecond = 1e-6;
    if (gaps > 0) profile_.launch = sum / static_cast<double>(gaps) * microsecond;
  }

 private:
  void take_kernel(const ChromeEvent& event, const std::function<std::string()>& location) {
    if (!event.duration || !std::isfinite(*event.duration) || *event.duration < 0)
      throw trace::TraceError(fmt::format(
          "{}: 'dur' of the kernel '{}' is {}; expected microseconds", location(),
          printable(event.name),
          event.duration ? fmt::format("{}", *event.duration) : "missing or not a number"));
    const auto [entry, is_new] = work_by_name_.try_emplace(event.name);
    if (is_new) entry->second = work_of(event.name);
    KernelSum& sum = profile_.by_work[static_cast<std::size_t>(entry->second)];
    constexpr double microsecond = 1e-6;
    ++sum.kernels;
    sum.seconds += *event.duration * microsecond;
  }

  KernelProfile& profile_;
  std::set<std::string> steps_;
  std::map<std::string, KernelWork> work_by_name_;
  // Launches and waits of each thread of the host; the key is process and thread.
  std::map<std::pair<std::string, std::string>, std::vector<HostCall>> calls_;
};

}  // namespace

KernelWork work_of(std::string_view kernel) {
  std::string lower(kernel);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const auto* const match = std::ranges::find_if(
      kernel_marks, [&](const KernelMark& mark) { return name_contains(lower, mark.part); });
  return match == kernel_marks.end() ? KernelWork::memory : match->work;
}

KernelProfile read_kernel_profile(const std::filesystem::path& file, const ReadProgress& progress) {
  KernelProfile profile{.file = file};
  KernelCollector collector(profile);
  profile.rank =
      read_chrome_events(
          file,
          [&](const ChromeEvent& event, const auto& location) { collector.take(event, location); },
          progress)
          .rank;
  collector.finish();
  const auto has_no_kernels = [](const KernelSum& sum) { return sum.kernels == 0; };
  if (std::ranges::all_of(profile.by_work, has_no_kernels))
    throw trace::TraceError(
        fmt::format("{}: no kernels found; profile with ProfilerActivity.CUDA, and with the CPU's "
                    "activity for the times of the host",
                    printable(file.string())));
  if (profile.steps == 0)
    throw trace::TraceError(
        fmt::format("{}: no ProfilerStep found, so the number of iterations is unknown; "
                    "call the profiler's step() after each iteration",
                    printable(file.string())));
  return profile;
}

}  // namespace pipewright::analysis
