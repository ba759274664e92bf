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

constexpr std::size_t most_names = 4096;  // that are counted or remembered: some carry addresses

std::optional<std::uint64_t> step_number(std::string_view name) {
  constexpr std::string_view prefix = "ProfilerStep#";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Of a backend whose receives the CPU itself waits for.
bool is_receive(std::string_view name) {
  return name.starts_with("gloo:recv") || name.starts_with("mpi:recv");
}

class Gatherer {
 public:
  Gatherer(const AnnotationOptions& options, Annotations& found)
      : options_(options), found_(found) {}

  void take(const ChromeEvent& event, const std::function<std::string()>& place) {
    ++found_.events;
    if (event.phase != "X" || event.name.empty()) return;
    kernels_.take(event);
    if (const auto number = step_number(event.name)) {
      count(found_.names, event.name);
      if (event.start) found_.steps.push_back({*number, lane(event), *event.start});
      return;
    }
    if (is_receive(event.name) && event.start && event.duration)
      found_.receives.push_back({event.process, *event.start + *event.duration});
    const bool own = is_own_pass(event);
    if (!own && !is_wanted(event.category)) return count(found_.categories, event.category);
    count(found_.names, event.name);
    std::vector<NamedPass> passes = read(event.name);
    if (passes.empty()) return;
    if (own) {
      passes.front().stage = static_cast<std::uint32_t>(*event.stage);
      passes.front().microbatch = static_cast<std::uint32_t>(*event.microbatch);
    }
    const auto check = [&](const char* field, std::optional<double> time, double least) {
      if (time && std::isfinite(*time) && *time >= least) return *time;
      throw trace::TraceError(fmt::format(
          "{}: '{}' of the event '{}' is {}: microseconds were expected", place(), field,
          printable(event.name), time ? fmt::format("{}", *time) : "missing or no number"));
    };
    const double start = check("ts", event.start, -1e18);
    found_.passes.push_back(
        {passes, lane(event), start, start + check("dur", event.duration, 0), std::nullopt});
  }

  void finish() {
    drop_nested();
    found_.has_launches = kernels_.launched();
    time_by_kernels();
  }

 private:
  // Of pipewright's export: "F 3" with the stage beside it.
  bool is_own_pass(const ChromeEvent& event) const {
    constexpr std::uint64_t most = 1U << 30U;
    return !options_.category && !options_.any_category && event.stage && event.microbatch &&
           *event.stage < most && *event.microbatch < most && event.name.size() > 2 &&
           event.name[1] == ' ' && std::string_view("FIWBR").find(event.name[0]) < 5;
  }

  // A function called forward_step may call one that is called so too: the outer one is the pass.
  void drop_nested() {
    std::vector<MarkedPass>& passes = found_.passes;
    std::ranges::stable_sort(passes, {}, [](const MarkedPass& pass) {
      return std::tuple(pass.lane, pass.start_us, -pass.end_us);
    });
    std::vector<MarkedPass> kept;
    for (MarkedPass& pass : passes) {
      const bool within = !kept.empty() && kept.back().lane == pass.lane &&
                          kept.back().passes == pass.passes && kept.back().end_us >= pass.end_us &&
                          pass.start_us < kept.back().end_us;
      if (!within) kept.push_back(std::move(pass));
    }
    passes = std::move(kept);
  }

  // Adds to each lane of the CPU one with the times of what its passes launched, on any thread:
  // autograd's own thread launches a backward, and no annotation of the GPU follows it there.
  void time_by_kernels() {
    std::map<std::size_t, std::vector<TimeWindow>> windows;  // by lane
    for (const MarkedPass& pass : found_.passes)
      if (found_.lanes[pass.lane].category != gpu_category)
        windows[pass.lane].push_back({pass.start_us, pass.end_us});
    std::map<std::size_t, std::vector<std::optional<TimeWindow>>> ran;
    std::map<std::size_t, std::size_t> lane_of;
    for (const auto& [lane, own] : windows) {
      auto found = kernels_.within(own, found_.lanes[lane].process);
      if (std::ranges::none_of(found, [](const auto& one) { return one.has_value(); })) continue;
      ran[lane] = std::move(found);
      lane_of[lane] = found_.lanes.size();
      found_.lanes.push_back(
          {kernel_category, found_.lanes[lane].process, found_.lanes[lane].thread});
    }
    std::map<std::size_t, std::pair<std::size_t, double>> done;  // of a lane: passes, and when
    const std::size_t passes = found_.passes.size();
    for (std::size_t i = 0; i < passes; ++i) {
      MarkedPass pass = found_.passes[i];
      const auto own = ran.find(pass.lane);
      if (own == ran.end()) continue;
      auto& [index, last] = done.try_emplace(pass.lane, 0, pass.start_us).first->second;
      const std::optional<TimeWindow>& window = own->second[index++];
      if (!window) ++found_.idle_passes;
      pass.launched_us = pass.start_us;
      // What launched nothing took no time of the GPU.
      const double idle = std::max(last, pass.start_us);
      pass.lane = lane_of.at(pass.lane);
      pass.start_us = window ? window->start_us : idle;
      pass.end_us = window ? window->end_us : idle;
      last = pass.end_us;
      found_.passes.push_back(std::move(pass));
    }
  }

  static void count(std::map<std::string, std::uint64_t>& counts, const std::string& name) {
    if (const auto counted = counts.find(name); counted != counts.end())
      ++counted->second;
    else if (counts.size() < most_names)
      counts[name] = 1;
  }

  bool is_wanted(const std::string& category) const {
    if (options_.category) return category == *options_.category;
    return options_.any_category || category.empty() || category == cpu_category ||
           category == gpu_category;
  }

  std::size_t lane(const ChromeEvent& event) {
    // Categories of one's own may differ by the kind of pass.
    const bool annotation = event.category == cpu_category || event.category == gpu_category;
    Lane lane{annotation ? event.category : "", event.process, event.thread};
    const auto [place, is_new] = lanes_.try_emplace(lane, found_.lanes.size());
    if (is_new) found_.lanes.push_back(std::move(lane));
    return place->second;
  }

  const std::vector<NamedPass>& read(const std::string& name) {
    if (known_.size() >= most_names && known_.find(name) == known_.end()) known_.clear();
    const auto [place, is_new] = known_.try_emplace(name);
    if (is_new) place->second = options_.names.read(name);
    return place->second;
  }

  const AnnotationOptions& options_;
  Annotations& found_;
  std::map<Lane, std::size_t> lanes_;
  LaunchedKernels kernels_;
  std::unordered_map<std::string, std::vector<NamedPass>> known_;
};

}  // namespace

Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress) {
  Annotations found;
  found.file = file;
  Gatherer gatherer(options, found);
  found.header = read_chrome_events(
      file, [&](const ChromeEvent& event, const auto& place) { gatherer.take(event, place); },
      progress);
  // Microbatches of an export are counted over all iterations.
  if (const auto count = found.header.microbatches)
    for (MarkedPass& pass : found.passes)
      if (auto& number = pass.passes.front().microbatch) *number %= *count;
  gatherer.finish();
  return found;
}

std::string frequent_names(const std::map<std::string, std::uint64_t>& counts, std::size_t most) {
  std::vector<std::pair<std::string, std::uint64_t>> names(counts.begin(), counts.end());
  std::ranges::stable_sort(names, std::greater{}, [](const auto& one) { return one.second; });
  constexpr std::size_t longest = 60;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    std::string name = printable(names[i].first);
    if (name.size() > longest) name = name.substr(0, longest) + "...";
    text += fmt::format("{}'{}' ({} times)", i == 0 ? "" : ", ", name, names[i].second);
  }
  return text;
}

}  // namespace pipewright::analysis
