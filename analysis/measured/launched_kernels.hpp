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

// The kernels of a profile, found by the calls that launched them: the two share a number
// (args.correlation). Kernels that communicate are left out, for they wait for another device.
class LaunchedKernels {
 public:
  void take(const ChromeEvent& event);
  bool launched() const { return !launches_.empty(); }

  // When the kernels ran that any thread of `process` launched within each of `windows`: from the
  // first one's start to the last one's end, on the stream where the windows' kernels ran longest.
  // Empty for a window without such kernels; for all of them if several processes have launches,
  // whose numbers would mean different kernels.
  std::vector<std::optional<TimeWindow>> within(std::span<const TimeWindow> windows,
                                                const std::string& process);

 private:
  struct Launch {
    double start_us;
    std::uint64_t correlation;
  };
  struct Kernel {
    std::uint64_t correlation;
    std::size_t stream;
    TimeWindow ran;
  };
  void sort();

  std::map<std::string, std::vector<Launch>> launches_;  // by process
  std::vector<Kernel> kernels_;
  std::map<std::pair<std::string, std::string>, std::size_t> streams_;
  std::map<std::string, bool> communicates_;  // by a kernel's name
  bool sorted_ = true;
};

}  // namespace pipewright::analysis
