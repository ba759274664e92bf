#include "analysis/import/measured_run.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/import/annotations.hpp"
#include "analysis/import/numbering.hpp"
#include "analysis/text_table.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

// The least time from the end of a pass to the start of one on another device that needs its
// output.
struct ClockGap {
  std::uint32_t from = 0;  // devices
  std::uint32_t to = 0;
  double least_us = 0;  // below 0: impossible
  std::size_t impossible = 0;
  NumberedPass producer;  // of the least
  NumberedPass consumer;
};

using trace::PassKind;

using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, PassKind>;

Key key(const NumberedPass& pass, std::uint32_t stage, PassKind kind) {
  return {pass.iteration, stage, pass.microbatch, kind};
}

// What a pass takes from another stage: activations from the one before, gradients from the next.
std::vector<Key> inputs(const NumberedPass& pass) {
  if (pass.kind == PassKind::forward && pass.stage > 0)
    return {key(pass, pass.stage - 1, PassKind::forward)};
  if (makes_gradient(pass.kind))
    return {key(pass, pass.stage + 1, PassKind::backward),
            key(pass, pass.stage + 1, PassKind::input_grad)};
  return {};
}

constexpr double tolerance_us = 1;  // of clocks that agree

std::vector<ClockGap> clock_gaps(const std::vector<NumberedPass>& passes) {
  std::map<Key, const NumberedPass*> by_key;
  for (const NumberedPass& pass : passes) by_key.emplace(key(pass, pass.stage, pass.kind), &pass);
  std::map<std::pair<std::uint32_t, std::uint32_t>, ClockGap> found;
  for (const NumberedPass& pass : passes)
    for (const Key& input : inputs(pass)) {
      const auto producer = by_key.find(input);
      if (producer == by_key.end() || producer->second->device == pass.device) continue;
      const double time = pass.start_us - producer->second->end_us;
      const auto [pair, is_new] = found.try_emplace({producer->second->device, pass.device});
      ClockGap& gap = pair->second;
      if (time < -tolerance_us) ++gap.impossible;
      if (!is_new && time >= gap.least_us) continue;
      gap = {pair->first.first, pair->first.second, time, gap.impossible, *producer->second, pass};
    }
  std::vector<ClockGap> list;
  for (auto& [pair, gap] : found) list.push_back(gap);
  return list;
}

std::vector<double> align_clocks(std::vector<NumberedPass>& passes, std::size_t devices) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;
  for (const ClockGap& one : clock_gaps(passes)) least[{one.from, one.to}] = one.least_us;
  // What is to be added to the clock of `to` so that it agrees with that of `from`.
  const auto offset = [&](std::uint32_t from, std::uint32_t to) -> std::optional<double> {
    const auto there = least.find({from, to});
    const auto back = least.find({to, from});
    if (there != least.end() && back != least.end()) return (back->second - there->second) / 2;
    if (there != least.end()) return std::max(0.0, -there->second);
    if (back != least.end()) return std::min(0.0, back->second);
    return std::nullopt;
  };
  std::vector<std::optional<double>> shifts(devices);
  for (std::uint32_t start = 0; start < devices; ++start) {
    if (shifts[start]) continue;
    shifts[start] = 0;
    std::vector<std::uint32_t> reached{start};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (std::uint32_t next = 0; next < devices; ++next)
        if (const auto step = offset(reached[i], next); step && !shifts[next]) {
          shifts[next] = *shifts[reached[i]] + *step;
          reached.push_back(next);
        }
  }
  std::vector<double> result;
  for (const auto& shift : shifts) result.push_back(shift.value_or(0));
  for (NumberedPass& pass : passes) {
    pass.start_us += result[pass.device];
    pass.end_us += result[pass.device];
  }
  return result;
}

constexpr double microsecond = 1e-6;

[[noreturn]] void fail_without_passes(const std::vector<Annotations>& files) {
  const Annotations& first = files.front();
  constexpr std::size_t most = 5;
  const std::string names = frequent_names(first.names, most);
  const std::string categories = frequent_names(first.categories, most);
  const std::string found =
      !names.empty() ? "the most frequent names are " + names
      : !categories.empty()
          ? "the most frequent categories are " + categories + ", and --category takes one of them"
          : "torch.profiler.record_function makes them";
  throw trace::TraceError(fmt::format(
      "{}: no annotation marks a pass, of {} events; {}. Say how passes are called, as in "
      "--pattern '(?<kind>forward|backward)-(?<microbatch>\\d+)'; groups: kind, stage, microbatch, "
      "device",
      printable(first.file.string()), first.events, found));
}

// Devices run one pass at a time. Sorts by device and start; ends that reach over the next start by
// less than the profiler's rounding are cut.
void check_overlaps(std::vector<NumberedPass>& passes, const std::vector<MarkedDevice>& devices) {
  std::ranges::stable_sort(
      passes, {}, [](const NumberedPass& pass) { return std::pair(pass.device, pass.start_us); });
  constexpr double rounding_us = 1;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    NumberedPass& before = passes[i - 1];
    const NumberedPass& pass = passes[i];
    if (before.device != pass.device || before.end_us <= pass.start_us) continue;
    const bool fused = before.start_us == pass.start_us && before.end_us == pass.end_us;
    if (fused &&
        (before.kind == trace::PassKind::forward) != (pass.kind == trace::PassKind::forward))
      continue;
    if (before.end_us > pass.start_us + rounding_us)
      throw trace::TraceError(fmt::format(
          "passes overlap on {}: {} of iteration {} starts {} before {} ends; choose what marks "
          "them alone with --pattern or --category",
          printable(devices[pass.device].name), describe(pass), pass.iteration,
          format_seconds((before.end_us - pass.start_us) * microsecond), describe(before)));
    before.end_us = std::max(before.start_us, pass.start_us);
  }
}

std::vector<std::string> clock_notes(const std::vector<NumberedPass>& passes,
                                     const std::vector<MarkedDevice>& devices) {
  std::vector<std::string> notes;
  for (const ClockGap& one : clock_gaps(passes))
    if (one.impossible > 0)
      notes.push_back(fmt::format(
          "the clocks of {} and {} do not agree: {} passes start before their input is there, {} "
          "up to {} before {} ends; --align shifts them",
          printable(devices[one.from].name), printable(devices[one.to].name), one.impossible,
          describe(one.consumer), format_seconds(-one.least_us * microsecond),
          describe(one.producer)));
  return notes;
}

std::string align_note(std::vector<NumberedPass>& passes,
                       const std::vector<MarkedDevice>& devices) {
  const std::vector<double> shifts = align_clocks(passes, devices.size());
  std::string text;
  for (std::size_t device = 0; device < shifts.size(); ++device)
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", printable(devices[device].name),
                        format_seconds(shifts[device] * microsecond));
  return "clocks are shifted: " + text;
}

std::optional<double> least_handover(const std::vector<NumberedPass>& passes) {
  std::optional<double> least;
  for (const ClockGap& one : clock_gaps(passes))
    least = std::min(least.value_or(one.least_us), one.least_us);
  if (least) *least *= microsecond;
  return least;
}

// The stages of each device, in order.
std::vector<std::vector<std::uint32_t>> stages_of(const std::vector<NumberedPass>& passes,
                                                  std::size_t devices) {
  std::vector<std::set<std::uint32_t>> found(devices);
  for (const NumberedPass& pass : passes) found[pass.device].insert(pass.stage);
  std::vector<std::vector<std::uint32_t>> lists;
  for (const auto& stages : found) lists.emplace_back(stages.begin(), stages.end());
  return lists;
}

trace::Trace to_trace(const std::vector<NumberedPass>& passes,
                      const std::vector<MarkedDevice>& devices, std::uint32_t microbatches) {
  trace::Trace trace;
  trace.run.schedule = "measured";
  trace.run.engine = measured_engine;
  trace.run.p2p = "unknown";
  trace.run.network = "unknown";
  trace.run.devices = static_cast<std::uint32_t>(devices.size());
  trace.run.microbatches = microbatches;
  const auto stages = stages_of(passes, devices.size());
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    trace.devices.push_back({device, devices[device].name, 0});
    trace.run.chunks =
        std::max(trace.run.chunks, static_cast<std::uint32_t>(stages[device].size()));
    for (std::uint32_t chunk = 0; chunk < stages[device].size(); ++chunk)
      trace.stages.push_back({stages[device][chunk], chunk, device});
  }
  const double origin = std::ranges::min(passes, {}, &NumberedPass::start_us).start_us;
  for (const NumberedPass& pass : passes) {
    const auto iteration = static_cast<std::uint32_t>(pass.iteration);
    const auto& own = stages[pass.device];
    trace.run.iterations = std::max(trace.run.iterations, iteration + 1);
    const double start = (pass.start_us - origin) * microsecond;
    const double end = (pass.end_us - origin) * microsecond;
    trace.passes.push_back(
        {.device = pass.device,
         .stage = pass.stage,
         .chunk = static_cast<std::uint32_t>(std::ranges::find(own, pass.stage) - own.begin()),
         .microbatch = iteration * microbatches + pass.microbatch,
         .iteration = iteration,
         .kind = pass.kind,
         .start = start,
         .end = end,
         .released = end});
  }
  return trace;
}

}  // namespace

MeasuredRun combine(const std::vector<Annotations>& files, const ImportOptions& options) {
  const std::vector<MarkedDevice> devices = devices_of(files);
  if (devices.empty()) fail_without_passes(files);
  for (const Annotations& file : files)
    if (file.passes.empty()) fail_without_passes({file});
  MeasuredRun run;
  std::vector<NumberedPass> passes = number_passes(devices, options.microbatches, run.notes);
  if (passes.empty()) throw trace::TraceError("no pass lies within a step of the profiler");
  const std::uint32_t microbatches =
      keep_whole_iterations(passes, options.skip, devices, run.notes);
  check_overlaps(passes, devices);
  if (options.align) run.notes.push_back(align_note(passes, devices));
  for (std::string& note : clock_notes(passes, devices)) run.notes.push_back(std::move(note));
  run.handover_s = least_handover(passes);
  run.trace = to_trace(passes, devices, microbatches);
  return run;
}

MeasuredRun import_chrome(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options, const ReadProgress& progress) {
  AnnotationOptions wanted{.names = options.pattern ? PassNames(*options.pattern) : PassNames(),
                           .category = options.category,
                           .any_category = options.pattern.has_value()};
  std::vector<Annotations> found;
  for (std::size_t i = 0; i < files.size(); ++i)
    found.push_back(read_annotations(files[i], wanted, [&](double share) {
      if (progress) progress((static_cast<double>(i) + share) / static_cast<double>(files.size()));
    }));
  // Times count from a moment of each file's own.
  for (Annotations& file : found) {
    const double later_us =
        static_cast<double>(file.header.base_ns - found.front().header.base_ns) * 1e-3;
    for (MarkedPass& pass : file.passes) {
      pass.start_us += later_us;
      pass.end_us += later_us;
    }
    for (MarkedStep& step : file.steps) step.start_us += later_us;
  }
  try {
    return combine(found, options);
  } catch (const trace::TraceError& error) {
    const std::string what = error.what();
    const bool named = std::ranges::any_of(files, [&](const std::filesystem::path& file) {
      return what.starts_with(printable(file.string()));
    });
    if (named) throw;
    throw trace::TraceError(fmt::format("{}: {}", printable(files.front().string()), what));
  }
}

}  // namespace pipewright::analysis
