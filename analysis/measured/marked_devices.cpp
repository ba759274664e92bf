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

// Sort key of a pipeline device. Devices named by numbers come first, by value; others follow.
struct DeviceKey {
  std::string_view kind;  // "device", "rank", "process"
  std::size_t file =
      0;  // Index of the file, if numbers of different files have different meanings.
  std::size_t digits = 0;
  std::string text;

  auto operator<=>(const DeviceKey&) const = default;
};

DeviceKey device_key(std::string_view kind, std::size_t file, const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return {kind, file, is_number ? text.size() : std::string::npos, text};
}

struct DeviceMarks {
  // Passes and steps found for this device, each with the index of its file.
  std::vector<std::pair<std::size_t, const MarkedPass*>> passes;
  std::vector<std::pair<std::size_t, const MarkedStep*>> steps;
};

int lane_priority(const std::string& category) {
  return category == kernel_category ? 3 : category == gpu_category ? 2 : category == cpu_category;
}

// Returns true if the steps of lane `step` delimit the iterations of the passes in lane `pass`:
// both are GPU lanes, or neither is. Lanes of kernels count as CPU lanes.
bool delimits_passes(const Lane& step, const Lane& pass) {
  return (step.category == gpu_category) == (pass.category == gpu_category);
}

// Returns the file and lane from which a device's passes are taken: among lanes of the best
// category (kernels, then GPU, then CPU), the one with the most passes.
std::pair<std::size_t, std::size_t> best_lane(const std::vector<Annotations>& files,
                                              const DeviceMarks& marks) {
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, double>> lanes;
  for (const auto& [file, pass] : marks.passes) {
    auto& [count, total_us] = lanes[{file, pass->lane}];
    ++count;
    total_us += pass->end_us - pass->start_us;
  }
  const auto rank = [&](const auto& lane) {
    return std::tuple(lane_priority(files[lane.first.first].lanes[lane.first.second].category),
                      lane.second.first, lane.second.second);
  };
  return std::ranges::max_element(lanes, {}, rank)->first;
}

// Returns the training steps that delimit the passes of a lane. The same step is marked on several
// lanes; its start is taken from the lane of the passes, or else from the first lane of that
// category.
std::vector<MarkedStep> steps_beside(const std::vector<Annotations>& files,
                                     const DeviceMarks& marks, std::size_t file, std::size_t lane) {
  std::map<std::uint64_t, MarkedStep> steps;  // by number
  for (const auto& [step_file, step] : marks.steps) {
    const std::vector<Lane>& lanes = files[step_file].lanes;
    if (step_file != file || !delimits_passes(lanes[step->lane], lanes[lane])) continue;
    const auto [entry, is_new] = steps.try_emplace(step->number, *step);
    const auto rank = [&](const MarkedStep& mark) {
      return std::pair(lanes[mark.lane].thread != lanes[lane].thread, mark.start_us);
    };
    if (!is_new && rank(*step) < rank(entry->second)) entry->second = *step;
  }
  std::vector<MarkedStep> list;
  for (const auto& [number, step] : steps) list.push_back(step);
  std::ranges::stable_sort(list, {}, &MarkedStep::start_us);
  return list;
}

// Returns the process that marked passes on the CPU if the file has one such process and one GPU
// process; the two have different names.
std::optional<std::string> only_process(const Annotations& file) {
  std::set<std::string> cpu_processes;
  std::set<std::string> gpu_processes;
  for (const MarkedPass& pass : file.passes) {
    const Lane& lane = file.lanes[pass.lane];
    (lane.category == gpu_category ? gpu_processes : cpu_processes).insert(lane.process);
  }
  if (cpu_processes.size() != 1 || gpu_processes.size() != 1) return std::nullopt;
  return *cpu_processes.begin();
}

void check_ranks(const std::vector<Annotations>& files) {
  std::map<std::uint32_t, std::size_t> file_by_rank;
  for (std::size_t file = 0; file < files.size(); ++file) {
    if (!files[file].header.rank) continue;
    const auto [entry, is_new] = file_by_rank.try_emplace(*files[file].header.rank, file);
    if (!is_new)
      throw trace::TraceError(
          fmt::format("{}: has rank {}, like {}; the files of a run must have different ranks",
                      printable(files[file].file.string()), entry->first,
                      printable(files[entry->second].file.string())));
  }
}

}  // namespace

std::vector<MarkedDevice> group_by_device(const std::vector<Annotations>& files) {
  check_ranks(files);
  // Each of several files without a rank is a device of its own, in the order of the files.
  const bool is_per_file = files.size() > 1;
  std::map<DeviceKey, DeviceMarks> marks_by_device;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto& rank = files[file].header.rank;
    const std::optional<std::string> process = only_process(files[file]);
    const auto lane_device = [&](std::size_t lane) {
      if (rank) return device_key("rank", 0, std::to_string(*rank));
      if (is_per_file) return device_key("file", file, "");
      return device_key("process", 0, process.value_or(files[file].lanes[lane].process));
    };
    for (const MarkedPass& pass : files[file].passes) {
      const auto& device = pass.passes.front().device;
      marks_by_device[device ? device_key("device", 0, std::to_string(*device))
                             : lane_device(pass.lane)]
          .passes.emplace_back(file, &pass);
    }
    for (const MarkedStep& step : files[file].steps)
      if (const auto device = marks_by_device.find(lane_device(step.lane));
          device != marks_by_device.end())
        device->second.steps.emplace_back(file, &step);
  }

  std::vector<MarkedDevice> devices;
  for (const auto& [name, marks] : marks_by_device) {
    const auto [file, best_index] = best_lane(files, marks);
    MarkedDevice device;
    device.name = name.kind == "file" ? files[file].file.filename().string()
                                      : fmt::format("{} {}", name.kind, name.text);
    for (const auto& [pass_file, pass] : marks.passes)
      if (pass_file == file && pass->lane == best_index) device.passes.push_back(*pass);
    device.steps = steps_beside(files, marks, file, best_index);
    const Lane& lane = files[file].lanes[best_index];
    device.category = lane.category;
    const bool is_gpu = lane.category == kernel_category || lane.category == gpu_category;
    const bool uses_nccl = files[file].header.backend.find("nccl") != std::string::npos;
    device.has_launch_times = !is_gpu && (files[file].has_launches || uses_nccl);
    for (const MarkedReceive& receive : files[file].receives)
      if (receive.process == lane.process) device.receives.push_back(receive.end_us);
    std::ranges::sort(device.receives);
    std::ranges::stable_sort(device.passes, {}, &MarkedPass::start_us);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace pipewright::analysis
