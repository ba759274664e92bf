#include "analysis/measured/annotations.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

// Limit on the number of distinct event names that are counted or cached. Names may contain
// addresses, so there may be millions.
constexpr std::size_t max_known_names = 4096;

std::optional<std::uint64_t> step_number(std::string_view name) {
  constexpr std::string_view prefix = "ProfilerStep#";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Returns true for a receive that blocks the CPU, as those of the gloo and mpi backends do.
bool is_receive(std::string_view name) {
  return name.starts_with("gloo:recv") || name.starts_with("mpi:recv");
}

class AnnotationCollector {
 public:
  AnnotationCollector(const AnnotationOptions& options, Annotations& annotations)
      : options_(options), annotations_(annotations) {}

  void take(const ChromeEvent& event, const std::function<std::string()>& location) {
    ++annotations_.events;
    if (event.phase != "X" || event.name.empty()) return;
    kernels_.take(event);
    if (const auto number = step_number(event.name)) {
      count(annotations_.names, event.name);
      if (event.start) annotations_.steps.push_back({*number, lane(event), *event.start});
      return;
    }
    if (is_receive(event.name) && event.start && event.duration)
      annotations_.receives.push_back({event.process, *event.start + *event.duration});
    const bool is_own = is_own_pass(event);
    if (!is_own && !is_accepted(event.category))
      return count(annotations_.categories, event.category);
    count(annotations_.names, event.name);
    std::vector<NamedPass> passes = read(event.name);
    if (passes.empty()) return;
    if (is_own) {
      passes.front().stage = static_cast<std::uint32_t>(*event.stage);
      passes.front().microbatch = static_cast<std::uint32_t>(*event.microbatch);
    }
    const auto checked_time = [&](const char* field, std::optional<double> time, double minimum) {
      if (time && std::isfinite(*time) && *time >= minimum) return *time;
      throw trace::TraceError(fmt::format(
          "{}: '{}' of the event '{}' is {}; expected microseconds", location(), field,
          printable(event.name), time ? fmt::format("{}", *time) : "missing or not a number"));
    };
    const double start = checked_time("ts", event.start, -1e18);
    annotations_.passes.push_back(
        {passes, lane(event), start, start + checked_time("dur", event.duration, 0), std::nullopt});
  }

  void finish() {
    drop_nested();
    annotations_.has_launches = kernels_.has_launches();
    add_kernel_lanes();
  }

 private:
  // Returns true if the event is a pass that pipewright exported. Its name is a letter and a number
  // ("F 3"), and its arguments give stage and microbatch.
  bool is_own_pass(const ChromeEvent& event) const {
    constexpr std::uint64_t limit = 1U << 30U;
    return !options_.category && !options_.any_category && event.stage && event.microbatch &&
           *event.stage < limit && *event.microbatch < limit && event.name.size() > 2 &&
           event.name[1] == ' ' && std::string_view("FIWBR").find(event.name[0]) < 5;
  }

  // Drops a pass that lies within another one of the same name: a function called forward_step may
  // call a second function of that name, and the outer call is the pass.
  void drop_nested() {
    std::vector<MarkedPass>& passes = annotations_.passes;
    std::ranges::stable_sort(passes, {}, [](const MarkedPass& pass) {
      return std::tuple(pass.lane, pass.start_us, -pass.end_us);
    });
    std::vector<MarkedPass> outer_passes;
    for (MarkedPass& pass : passes) {
      const bool is_nested = !outer_passes.empty() && outer_passes.back().lane == pass.lane &&
                             outer_passes.back().passes == pass.passes &&
                             outer_passes.back().end_us >= pass.end_us &&
                             pass.start_us < outer_passes.back().end_us;
      if (!is_nested) outer_passes.push_back(std::move(pass));
    }
    passes = std::move(outer_passes);
  }

  // Adds a second lane for each CPU lane, in which each pass has the times of the GPU kernels that
  // it launched from any thread. Autograd launches the backward kernels from its own thread, and
  // GPU annotations do not cover those.
  void add_kernel_lanes() {
    std::map<std::size_t, std::vector<TimeWindow>> windows;  // By lane.
    for (const MarkedPass& pass : annotations_.passes)
      if (annotations_.lanes[pass.lane].category != gpu_category)
        windows[pass.lane].push_back({pass.start_us, pass.end_us});
    std::map<std::size_t, std::vector<std::optional<TimeWindow>>> kernel_windows;
    std::map<std::size_t, std::size_t> kernel_lane;
    for (const auto& [lane, lane_windows] : windows) {
      auto windows_of_kernels = kernels_.windows_of(lane_windows, annotations_.lanes[lane].process);
      if (std::ranges::none_of(windows_of_kernels,
                               [](const auto& window) { return window.has_value(); }))
        continue;
      kernel_windows[lane] = std::move(windows_of_kernels);
      kernel_lane[lane] = annotations_.lanes.size();
      annotations_.lanes.push_back(
          {kernel_category, annotations_.lanes[lane].process, annotations_.lanes[lane].thread});
    }
    // Index of the next pass and end of the last kernel, for each lane.
    std::map<std::size_t, std::pair<std::size_t, double>> progress;
    const std::size_t passes = annotations_.passes.size();
    for (std::size_t i = 0; i < passes; ++i) {
      MarkedPass pass = annotations_.passes[i];
      const auto lane_windows = kernel_windows.find(pass.lane);
      if (lane_windows == kernel_windows.end()) continue;
      auto& [index, last_end] = progress.try_emplace(pass.lane, 0, pass.start_us).first->second;
      const std::optional<TimeWindow>& window = lane_windows->second[index++];
      if (!window) ++annotations_.idle_passes;
      pass.launched_us = pass.start_us;
      // A pass that launched no kernels gets zero duration, right after the previous kernel.
      const double idle_start = std::max(last_end, pass.start_us);
      pass.lane = kernel_lane.at(pass.lane);
      pass.start_us = window ? window->start_us : idle_start;
      pass.end_us = window ? window->end_us : idle_start;
      last_end = pass.end_us;
      annotations_.passes.push_back(std::move(pass));
    }
  }

  static void count(std::map<std::string, std::uint64_t>& counts, const std::string& name) {
    if (const auto entry = counts.find(name); entry != counts.end())
      ++entry->second;
    else if (counts.size() < max_known_names)
      counts[name] = 1;
  }

  bool is_accepted(const std::string& category) const {
    if (options_.category) return category == *options_.category;
    return options_.any_category || category.empty() || category == cpu_category ||
           category == gpu_category;
  }

  std::size_t lane(const ChromeEvent& event) {
    // Events of categories that the user chose share a lane, even if their categories differ.
    const bool is_annotation = event.category == cpu_category || event.category == gpu_category;
    Lane lane{is_annotation ? event.category : "", event.process, event.thread};
    const auto [entry, is_new] = lanes_.try_emplace(lane, annotations_.lanes.size());
    if (is_new) annotations_.lanes.push_back(std::move(lane));
    return entry->second;
  }

  const std::vector<NamedPass>& read(const std::string& name) {
    if (cache_.size() >= max_known_names && cache_.find(name) == cache_.end()) cache_.clear();
    const auto [entry, is_new] = cache_.try_emplace(name);
    if (is_new) entry->second = options_.names.read(name);
    return entry->second;
  }

  const AnnotationOptions& options_;
  Annotations& annotations_;
  std::map<Lane, std::size_t> lanes_;
  LaunchedKernels kernels_;
  std::unordered_map<std::string, std::vector<NamedPass>> cache_;
};

}  // namespace

Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress) {
  Annotations annotations;
  annotations.file = file;
  AnnotationCollector collector(options, annotations);
  annotations.header = read_chrome_events(
      file,
      [&](const ChromeEvent& event, const auto& location) { collector.take(event, location); },
      progress);
  // pipewright exports number the microbatches across iterations; convert to numbers within one.
  if (const auto count = annotations.header.microbatches)
    for (MarkedPass& pass : annotations.passes)
      if (auto& number = pass.passes.front().microbatch) *number %= *count;
  collector.finish();
  return annotations;
}

std::string frequent_names(const std::map<std::string, std::uint64_t>& counts,
                           std::size_t max_names) {
  std::vector<std::pair<std::string, std::uint64_t>> names(counts.begin(), counts.end());
  std::ranges::stable_sort(names, std::greater{}, [](const auto& entry) { return entry.second; });
  constexpr std::size_t max_length = 60;
  std::string text;
  for (std::size_t i = 0; i < std::min(max_names, names.size()); ++i) {
    std::string name = printable(names[i].first);
    if (name.size() > max_length) name = name.substr(0, max_length) + "...";
    text += fmt::format("{}'{}' ({} times)", i == 0 ? "" : ", ", name, names[i].second);
  }
  return text;
}

}  // namespace pipewright::analysis
