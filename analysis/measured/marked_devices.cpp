#include "analysis/measured/marked_devices.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

// Numbers in order of their values, other texts behind them.
struct DeviceKey {
  std::string_view what;  // "device", "rank", "process"
  std::size_t file = 0;   // where numbers of different files mean different things
  std::size_t digits = 0;
  std::string text;

  auto operator<=>(const DeviceKey&) const = default;
};

DeviceKey key(std::string_view what, std::size_t file, const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return {what, file, number ? text.size() : std::string::npos, text};
}

struct Candidates {
  std::vector<std::pair<std::size_t, const MarkedPass*>> passes;  // with the file
  std::vector<std::pair<std::size_t, const MarkedStep*>> steps;
};

int priority(const std::string& category) {
  return category == kernel_category ? 3 : category == gpu_category ? 2 : category == cpu_category;
}

// Which mark an iteration of passes that stand there: where times are of kernels, the CPU's do.
bool marks_steps_of(const Lane& step, const Lane& pass) {
  return (step.category == gpu_category) == (pass.category == gpu_category);
}

// The lane with most of the passes, among those of the best category.
std::pair<std::size_t, std::size_t> best_lane(const std::vector<Annotations>& files,
                                              const Candidates& found) {
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, double>> lanes;
  for (const auto& [file, pass] : found.passes) {
    auto& [count, time] = lanes[{file, pass->lane}];
    ++count;
    time += pass->end_us - pass->start_us;
  }
  const auto value = [&](const auto& lane) {
    return std::tuple(priority(files[lane.first.first].lanes[lane.first.second].category),
                      lane.second.first, lane.second.second);
  };
  return std::ranges::max_element(lanes, {}, value)->first;
}

// A step is marked on each lane that has a part in it: the one with the passes says when it began
// there, else the first of the same category.
std::vector<MarkedStep> steps_beside(const std::vector<Annotations>& files, const Candidates& found,
                                     std::size_t file, std::size_t lane) {
  std::map<std::uint64_t, MarkedStep> steps;  // by number
  for (const auto& [of, step] : found.steps) {
    const std::vector<Lane>& lanes = files[of].lanes;
    if (of != file || !marks_steps_of(lanes[step->lane], lanes[lane])) continue;
    const auto [known, is_new] = steps.try_emplace(step->number, *step);
    const auto rank = [&](const MarkedStep& one) {
      return std::pair(lanes[one.lane].thread != lanes[lane].thread, one.start_us);
    };
    if (!is_new && rank(*step) < rank(known->second)) known->second = *step;
  }
  std::vector<MarkedStep> list;
  for (const auto& [number, step] : steps) list.push_back(step);
  std::ranges::stable_sort(list, {}, &MarkedStep::start_us);
  return list;
}

// The process of the CPU's passes, if there is one and its GPU's: those name another (the GPU).
std::optional<std::string> only_process(const Annotations& file) {
  std::set<std::string> of_cpu;
  std::set<std::string> of_gpu;
  for (const MarkedPass& pass : file.passes) {
    const Lane& lane = file.lanes[pass.lane];
    (lane.category == gpu_category ? of_gpu : of_cpu).insert(lane.process);
  }
  if (of_cpu.size() != 1 || of_gpu.size() != 1) return std::nullopt;
  return *of_cpu.begin();
}

void check_ranks(const std::vector<Annotations>& files) {
  std::map<std::uint32_t, std::size_t> file_of;
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (!files[file].header.rank) continue;
    const auto [other, is_new] = file_of.try_emplace(*files[file].header.rank, file);
    if (!is_new)
      throw trace::TraceError(
          fmt::format("{}: is of rank {}, as {} is; the files of one run are of different ranks",
                      printable(files[file].file.string()), other->first,
                      printable(files[other->second].file.string())));
  }
}

}  // namespace

std::vector<MarkedDevice> devices_of(const std::vector<Annotations>& files) {
  check_ranks(files);
  // Several files without a rank each are of one device, in their order.
  const bool by_file = files.size() > 1;
  std::map<DeviceKey, Candidates> found;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto& rank = files[file].header.rank;
    const std::optional<std::string> process = only_process(files[file]);
    const auto own = [&](std::size_t lane) {
      if (rank) return key("rank", 0, std::to_string(*rank));
      if (by_file) return key("file", file, "");
      return key("process", 0, process.value_or(files[file].lanes[lane].process));
    };
    for (const MarkedPass& pass : files[file].passes) {
      const auto& device = pass.passes.front().device;
      found[device ? key("device", 0, std::to_string(*device)) : own(pass.lane)]
          .passes.emplace_back(file, &pass);
    }
    for (const MarkedStep& step : files[file].steps)
      if (const auto device = found.find(own(step.lane)); device != found.end())
        device->second.steps.emplace_back(file, &step);
  }

  std::vector<MarkedDevice> devices;
  for (const auto& [name, candidates] : found) {
    const auto [file, best] = best_lane(files, candidates);
    MarkedDevice device;
    device.name = name.what == "file" ? files[file].file.filename().string()
                                      : fmt::format("{} {}", name.what, name.text);
    for (const auto& [of, pass] : candidates.passes)
      if (of == file && pass->lane == best) device.passes.push_back(*pass);
    device.steps = steps_beside(files, candidates, file, best);
    const Lane& lane = files[file].lanes[best];
    device.category = lane.category;
    const bool of_gpu = lane.category == kernel_category || lane.category == gpu_category;
    const bool nccl = files[file].header.backend.find("nccl") != std::string::npos;
    device.only_launched = !of_gpu && (files[file].has_launches || nccl);
    for (const MarkedReceive& receive : files[file].receives)
      if (receive.process == lane.process) device.receives.push_back(receive.end_us);
    std::ranges::sort(device.receives);
    std::ranges::stable_sort(device.passes, {}, &MarkedPass::start_us);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace pipewright::analysis
