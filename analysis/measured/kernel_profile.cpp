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

struct Mark {
  KernelWork work;
  std::string_view part;  // of a kernel's name, in small letters
};

// The first that fits counts: attention's and communication's kernels have parts of products'.
constexpr std::array marks{
    Mark{KernelWork::communication, "nccl"},
    Mark{KernelWork::communication, "rccl"},
    Mark{KernelWork::communication, "nvshmem"},
    Mark{KernelWork::communication, "deep_ep"},
    Mark{KernelWork::communication, "userbuffers"},
    Mark{KernelWork::optimizer, "multi_tensor"},
    Mark{KernelWork::optimizer, "multitensor"},
    Mark{KernelWork::optimizer, "adam"},
    Mark{KernelWork::attention, "flash"},
    Mark{KernelWork::attention, "fmha"},
    Mark{KernelWork::attention, "sdpa"},
    Mark{KernelWork::attention, "attn_fwd"},
    Mark{KernelWork::attention, "attn_bwd"},
    Mark{KernelWork::attention, "bwd_kernel_dk"},  // AOTriton: dk_dv, dq
    Mark{KernelWork::attention, "bwd_kernel_dq"},
    Mark{KernelWork::products, "gemm"},
    Mark{KernelWork::products, "nvjet"},
    Mark{KernelWork::products, "cijk_"},
    Mark{KernelWork::products, "_s16816"},
    Mark{KernelWork::products, "xmma"},
    Mark{KernelWork::products, "splitkreduce"},
    Mark{KernelWork::products, "matmul"},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_step(const std::string& name) { return name.starts_with("ProfilerStep#"); }

// What the host's calls to CUDA or HIP do, by their names.
bool is_kernel_launch(std::string_view call) {
  return contains(call, "LaunchKernel") || contains(call, "LaunchCooperativeKernel");
}
bool is_wait(std::string_view call) {
  const bool copies_at_once = contains(call, "Memcpy") && !contains(call, "Async");
  return contains(call, "Synchronize") || copies_at_once;
}

// A launch of a kernel, or a wait for the GPU. Microseconds.
struct Call {
  double start = 0;
  double length = 0;
  bool launches = false;
};

// A longer pause is not the launches': data that is loaded, a log that is written.
constexpr double longest_gap = 1000;

class Gatherer {
 public:
  explicit Gatherer(KernelProfile& found) : found_(found) {}

  void take(const ChromeEvent& event, const std::function<std::string()>& place) {
    if (event.phase != "X") return;
    if (is_step(event.name) && event.category != "gpu_user_annotation") steps_.insert(event.name);
    if (event.category == "kernel") return take_kernel(event, place);
    if (event.category != "cuda_runtime" && event.category != "cuda_driver") return;
    const bool launch = is_kernel_launch(event.name);
    if ((!launch && !is_wait(event.name)) || !event.start) return;
    calls_[{event.process, event.thread}].push_back(
        {*event.start, std::max(0.0, event.duration.value_or(0)), launch});
  }

  void finish() {
    found_.steps = static_cast<std::uint32_t>(steps_.size());
    std::vector<double> lengths;
    for (const auto& [thread, calls] : calls_)
      for (const Call& call : calls)
        if (call.launches) lengths.push_back(call.length);
    if (lengths.empty()) return;
    const double usual = quantile(std::move(lengths), 0.5);
    double sum = 0;
    std::size_t gaps = 0;
    for (auto& [thread, calls] : calls_) {
      std::ranges::sort(calls, {}, &Call::start);
      for (std::size_t i = 1; i < calls.size(); ++i) {
        const Call& before = calls[i - 1];
        if (!before.launches || !calls[i].launches) continue;
        const double gap = calls[i].start - before.start - std::max(0.0, before.length - usual);
        if (gap > longest_gap) continue;
        sum += gap;
        ++gaps;
      }
    }
    constexpr double microsecond = 1e-6;
    if (gaps > 0) found_.launch = sum / static_cast<double>(gaps) * microsecond;
  }

 private:
  void take_kernel(const ChromeEvent& event, const std::function<std::string()>& place) {
    if (!event.duration || !std::isfinite(*event.duration) || *event.duration < 0)
      throw trace::TraceError(fmt::format(
          "{}: 'dur' of the kernel '{}' is {}: microseconds were expected", place(),
          printable(event.name),
          event.duration ? fmt::format("{}", *event.duration) : "missing or no number"));
    const auto [known, is_new] = works_.try_emplace(event.name);
    if (is_new) known->second = work_of(event.name);
    KernelSum& sum = found_.of_work[static_cast<std::size_t>(known->second)];
    constexpr double microsecond = 1e-6;
    ++sum.kernels;
    sum.seconds += *event.duration * microsecond;
  }

  KernelProfile& found_;
  std::set<std::string> steps_;
  std::map<std::string, KernelWork> works_;
  std::map<std::pair<std::string, std::string>, std::vector<Call>> calls_;  // by process, thread
};

}  // namespace

KernelWork work_of(std::string_view kernel) {
  std::string small(kernel);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const auto* const mark =
      std::ranges::find_if(marks, [&](const Mark& one) { return contains(small, one.part); });
  return mark == marks.end() ? KernelWork::memory : mark->work;
}

KernelProfile read_kernel_profile(const std::filesystem::path& file, const ReadProgress& progress) {
  KernelProfile found{.file = file};
  Gatherer gatherer(found);
  found.rank =
      read_chrome_events(
          file, [&](const ChromeEvent& event, const auto& place) { gatherer.take(event, place); },
          progress)
          .rank;
  gatherer.finish();
  const auto nothing = [](const KernelSum& sum) { return sum.kernels == 0; };
  if (std::ranges::all_of(found.of_work, nothing))
    throw trace::TraceError(
        fmt::format("{}: has no kernels; profile with ProfilerActivity.CUDA, and the CPU's "
                    "activity beside it for the host's part",
                    printable(file.string())));
  if (found.steps == 0)
    throw trace::TraceError(
        fmt::format("{}: has no ProfilerStep, so that nothing says how many iterations it is of; "
                    "call the profiler's step() after each",
                    printable(file.string())));
  return found;
}

}  // namespace pipewright::analysis
