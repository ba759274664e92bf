#include "sim/cli/dropped_transfers.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/schedule_spec.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {

void note_dropped_transfers(const std::vector<std::string>& schedules) {
  std::vector<std::string> files;
  for (const std::string& name : schedules)
    if (config::schedule_source(name) == config::ScheduleSource::torch_file &&
        std::ranges::find(files, name) == files.end() && workload::places_transfers(name))
      files.push_back(name);
  if (files.empty()) return;
  fmt::print(stderr,
             "pipewright: {}: the placement of SEND and RECV is not simulated; 'pipewright "
             "schedule check' judges it\n",
             fmt::join(files, ", "));
}

}  // namespace pipewright::cli
