#include "analysis/picture/run_names.hpp"

#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

std::string counted(std::uint32_t count, const char* one, const char* ending = "s") {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : ending);
}

}  // namespace

std::vector<std::string> run_names(std::span<const Summary> runs) {
  using Part = std::function<std::string(const trace::RunInfo&)>;
  const std::vector<Part> parts{
      [](auto& run) { return counted(run.devices, "device"); },
      [](auto& run) { return counted(run.microbatches, "microbatch", "es"); },
      [](auto& run) { return counted(run.replicas, "replica"); },
      [](auto& run) { return counted(run.lanes, "GPU") + " a device"; },
      [](auto& run) { return counted(run.iterations, "iteration"); },
      [](auto& run) { return run.network; },
      [](auto& run) { return run.p2p; },
      [](auto& run) { return run.engine; }};
  std::vector<std::string> names;
  for (const Summary& run : runs)
    names.push_back(run.run.chunks > 1 ? fmt::format("{} x{}", run.run.schedule, run.run.chunks)
                                       : run.run.schedule);
  // Only runs that still have one name get longer ones.
  for (const Part& part : parts) {
    std::map<std::string, std::set<std::string>> found;
    for (std::size_t i = 0; i < runs.size(); ++i) found[names[i]].insert(part(runs[i].run));
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (found[names[i]].size() > 1) names[i] += ", " + part(runs[i].run);
  }
  std::map<std::string, int> times;
  for (const std::string& name : names) ++times[name];
  std::map<std::string, int> number;
  for (std::string& name : names)
    if (times[name] > 1) name += fmt::format(" ({})", ++number[name]);
  return names;
}

}  // namespace pipewright::analysis
