#include "analysis/measured/measured_run.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/measured/formats.hpp"
#include "analysis/measured/handovers.hpp"
#include "analysis/measured/marked_devices.hpp"
#include "analysis/measured/numbering.hpp"
#include "analysis/measured/primus_passes.hpp"
#include "analysis/measured/waits.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

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
      "{}: no annotation marks a pass, of {} events; {}. PyTorch's Schedule1F1B marks none, and "
      "Megatron-LM's functions are seen with_stack and --category python_function. Say how passes "
      "are called, as in "
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

void note_clocks(const std::vector<PassHandover>& found, const HoldsWaits& waits,
                 const std::vector<MarkedDevice>& devices, std::vector<std::string>& notes) {
  const bool mends = shifts_can_mend(found, devices.size());
  for (const PassHandover& one : found)
    if (one.impossible > 0)
      notes.push_back(fmt::format(
          "the {} of {} and {} do not agree: {} {} before their input is there, {} up to {} before "
          "{} ends; {}",
          mends ? "clocks" : "passes", printable(devices[one.from].name),
          printable(devices[one.to].name), counted(one.impossible, "pass"),
          waits[one.to] ? "end" : "start", describe(one.consumer),
          format_seconds(-one.least_us * microsecond), describe(one.producer),
          mends ? "--align shifts them"
                : "no shift of clocks mends that, so look at the names and at --microbatches"));
}

std::string align_note(const std::vector<double>& shifts,
                       const std::vector<MarkedDevice>& devices) {
  if (std::ranges::all_of(shifts, [](double shift) { return shift == 0; }))
    return "no clock is shifted: none contradicts another in a way that a shift would mend";
  std::string text;
  for (std::size_t device = 0; device < shifts.size(); ++device)
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", printable(devices[device].name),
                        format_seconds(shifts[device] * microsecond));
  return "clocks are shifted: " + text;
}

// Brings the clocks of devices together where that is asked, and cuts the waits for input.
void settle_times(std::vector<NumberedPass>& passes, const std::vector<MarkedDevice>& devices,
                  bool align, std::vector<std::string>& notes) {
  const HoldsWaits waits = holds_waits(passes, devices);
  std::vector<double> shifts(devices.size(), 0);
  if (align) {
    shifts = align_clocks(passes, waits, devices.size());
    notes.push_back(align_note(shifts, devices));
  }
  note_clocks(handovers(passes, waits), waits, devices, notes);
  cut_waits(passes, waits, devices, shifts, notes);
}

// What the files say of how the passes' times were taken.
void note_sources(const std::vector<Annotations>& files, const std::vector<MarkedDevice>& devices,
                  std::vector<std::string>& notes) {
  std::uint64_t idle = 0;
  for (const Annotations& file : files) idle += file.idle_passes;
  if (idle > 0)
    notes.push_back(fmt::format("{} launched no kernel, and took no time", counted(idle, "pass")));
  std::string launched;
  for (const MarkedDevice& device : devices)
    if (device.only_launched) launched += (launched.empty() ? "" : ", ") + printable(device.name);
  if (!launched.empty())
    notes.push_back(fmt::format(
        "the times of {} are the CPU's, which launches work that the GPU runs later: no kernel "
        "of a pass is in the profile; ProfilerActivity.CUDA adds them",
        launched));
}

std::optional<double> least_handover(const std::vector<NumberedPass>& passes, std::size_t devices) {
  std::optional<double> least;
  for (const PassHandover& one : handovers(passes, HoldsWaits(devices, false)))
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
  note_sources(files, devices, run.notes);
  settle_times(passes, devices, options.align, run.notes);
  run.handover_s = least_handover(passes, devices.size());
  run.trace = to_trace(passes, devices, microbatches);
  return run;
}

namespace {

// Messages name a file.
MeasuredRun combine_named(const std::vector<Annotations>& found,
                          const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options) {
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

}  // namespace

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
      if (pass.launched_us) *pass.launched_us += later_us;
    }
    for (MarkedStep& step : file.steps) step.start_us += later_us;
    for (MarkedReceive& receive : file.receives) receive.end_us += later_us;
  }
  return combine_named(found, files, options);
}

MeasuredRun import_passes(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options, const ReadProgress& progress) {
  if (file_kind(files.front()) != FileKind::primus_passes)
    return import_chrome(files, options, progress);
  return combine_named(read_primus_passes(files), files, options);
}

}  // namespace pipewright::analysis
