#include "analysis/picture/run_names.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace pipewright::analysis {

std::vector<std::string> run_names(std::span<const Summary> runs) {
  using Part = std::function<std::string(const trace::RunInfo&)>;
  const std::vector<Part> parts{
      [](auto& run) { return fmt::format("{} devices", run.devices); },
      [](auto& run) { return fmt::format("{} microbatches", run.microbatches); },
      [](auto& run) { return fmt::format("{} replicas", run.replicas); },
      [](auto& run) { return fmt::format("{} GPUs a device", run.lanes); },
      [](auto& run) { return fmt::format("{} iterations", run.iterations); },
      [](auto& run) { return run.network; },
      [](auto& run) { return run.p2p; },
      [](auto& run) { return run.engine; }};
  std::vector<std::string> names;
  for (const Summary& run : runs)
    names.push_back(run.run.chunks > 1 ? fmt::format("{} x{}", run.run.schedule, run.run.chunks)
                                       : run.run.schedule);
  for (const Part& part : parts) {
    const bool same = std::ranges::all_of(
        runs, [&](const Summary& run) { return part(run.run) == part(runs.front().run); });
    for (std::size_t i = 0; i < runs.size() && !same; ++i) names[i] += ", " + part(runs[i].run);
  }
  std::map<std::string, int> times;
  for (const std::string& name : names) ++times[name];
  std::map<std::string, int> number;
  for (std::string& name : names)
    if (times[name] > 1) name += fmt::format(" ({})", ++number[name]);
  return names;
}

}  // namespace pipewright::analysis
