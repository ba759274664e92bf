#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/measured/chrome_events.hpp"

namespace pipewright::analysis {

struct TimeWindow {
  double start_us = 0;
  double end_us = 0;
};

// Kernels of a profile, found through the calls that launched them: a call and its kernels share a
// number (args.correlation). Communication kernels are left out, because they wait for other
// devices.
class LaunchedKernels {
 public:
  void take(const ChromeEvent& event);
  bool has_launches() const { return !launches_.empty(); }

  // Returns for each of `windows` the time in which the kernels ran that any thread of `process`
  // launched within it: from the first start to the last end, on the stream where the kernels of
  // all windows ran longest. No value for a window without such kernels. No values at all if
  // several processes have launches, since their numbers could denote different kernels.
  std::vector<std::optional<TimeWindow>> windows_of(std::span<const TimeWindow> windows,
                                                    const std::string& process);

 private:
  struct Launch {
    double start_us;
    std::uint64_t correlation;
  };
  struct Kernel {
    std::uint64_t correlation;
    std::size_t stream;
    TimeWindow window;
  };
  void sort();

  std::map<std::string, std::vector<Launch>> launches_;  // By process.
  std::vector<Kernel> kernels_;
  std::map<std::pair<std::string, std::string>, std::size_t> streams_;
  std::map<std::string, bool> is_communication_;  // By name of the kernel.
  bool is_sorted_ = true;
};

}  // namespace pipewright::analysis
