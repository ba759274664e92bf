#include "analysis/import/annotations.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
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

class Gatherer {
 public:
  Gatherer(const AnnotationOptions& options, Annotations& found)
      : options_(options), found_(found) {}

  void take(const ChromeEvent& event, const std::function<std::string()>& place) {
    ++found_.events;
    if (event.phase != "X" || event.name.empty()) return;
    if (!is_wanted(event.category)) return count(found_.categories, event.category);
    count(found_.names, event.name);
    if (const auto number = step_number(event.name)) {
      if (event.start) found_.steps.push_back({*number, lane(event), *event.start});
      return;
    }
    const std::vector<NamedPass>& passes = read(event.name);
    if (passes.empty()) return;
    const auto check = [&](const char* field, std::optional<double> time, double least) {
      if (time && std::isfinite(*time) && *time >= least) return *time;
      throw trace::TraceError(fmt::format(
          "{}: '{}' of the event '{}' is {}: microseconds were expected", place(), field,
          printable(event.name), time ? fmt::format("{}", *time) : "missing or no number"));
    };
    const double start = check("ts", event.start, -1e18);
    found_.passes.push_back({passes, lane(event), start, start + check("dur", event.duration, 0)});
  }

 private:
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
  std::unordered_map<std::string, std::vector<NamedPass>> known_;
};

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
  return category == gpu_category ? 2 : category == cpu_category ? 1 : 0;
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
    if (of != file || files[of].lanes[step->lane].category != files[of].lanes[lane].category)
      continue;
    const auto [known, is_new] = steps.try_emplace(step->number, *step);
    const auto rank = [&](const MarkedStep& one) {
      return std::pair(one.lane != lane, one.start_us);
    };
    if (!is_new && rank(*step) < rank(known->second)) known->second = *step;
  }
  std::vector<MarkedStep> list;
  for (const auto& [number, step] : steps) list.push_back(step);
  std::ranges::stable_sort(list, {}, &MarkedStep::start_us);
  return list;
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

Annotations read_annotations(const std::filesystem::path& file, const AnnotationOptions& options,
                             const ReadProgress& progress) {
  Annotations found;
  found.file = file;
  Gatherer gatherer(options, found);
  found.header = read_chrome_events(
      file, [&](const ChromeEvent& event, const auto& place) { gatherer.take(event, place); },
      progress);
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

std::vector<MarkedDevice> devices_of(const std::vector<Annotations>& files) {
  check_ranks(files);
  // Several files without a rank each are of one device, in their order.
  const bool by_file = files.size() > 1;
  std::map<DeviceKey, Candidates> found;
  for (std::size_t file = 0; file < files.size(); ++file) {
    const auto& rank = files[file].header.rank;
    const auto own = [&](std::size_t lane) {
      if (rank) return key("rank", 0, std::to_string(*rank));
      if (by_file) return key("file", file, "");
      return key("process", 0, files[file].lanes[lane].process);
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
    std::ranges::stable_sort(device.passes, {}, &MarkedPass::start_us);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace pipewright::analysis
