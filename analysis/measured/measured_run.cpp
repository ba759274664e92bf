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

constexpr double measured_microsecond = 1e-6;

[[noreturn]] void fail_without_passes(const std::vector<Annotations>& files) {
  const Annotations& first = files.front();
  constexpr std::size_t max_names = 5;
  const std::string names = frequent_names(first.names, max_names);
  const std::string categories = frequent_names(first.categories, max_names);
  const std::string hint =
      !names.empty() ? "the most frequent names are " + names
      : !categories.empty()
          ? "the most frequent categories are " + categories + ", and --category takes one of them"
          : "torch.profiler.record_function makes them";
  throw trace::TraceError(fmt::format(
      "{}: none of {} events marks a pass; {}. PyTorch's Schedule1F1B marks none, and "
      "Megatron-LM's functions need with_stack and --category python_function. Give the names of "
      "passes, as in "
      "--pattern '(?<kind>forward|backward)-(?<microbatch>\\d+)'; groups: kind, stage, microbatch, "
      "device",
      printable(first.file.string()), first.events, hint));
}

// Sorts passes by device and start, and checks that a device runs one pass at a time. Ends that
// overlap the next start by less than the profiler's rounding are cut.
void check_overlaps(std::vector<NumberedPass>& passes, const std::vector<MarkedDevice>& devices) {
  std::ranges::stable_sort(
      passes, {}, [](const NumberedPass& pass) { return std::pair(pass.device, pass.start_us); });
  constexpr double rounding_us = 1;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    NumberedPass& previous = passes[i - 1];
    const NumberedPass& pass = passes[i];
    if (previous.device != pass.device || previous.end_us <= pass.start_us) continue;
    const bool is_fused = previous.start_us == pass.start_us && previous.end_us == pass.end_us;
    if (is_fused &&
        (previous.kind == trace::PassKind::forward) != (pass.kind == trace::PassKind::forward))
      continue;
    if (previous.end_us > pass.start_us + rounding_us)
      throw trace::TraceError(fmt::format(
          "passes overlap on {}: {} of iteration {} starts {} before {} ends; select the marks "
          "of passes alone with --pattern or --category",
          printable(devices[pass.device].name), describe(pass), pass.iteration,
          format_seconds((previous.end_us - pass.start_us) * measured_microsecond),
          describe(previous)));
    previous.end_us = std::max(previous.start_us, pass.start_us);
  }
}

void note_clocks(const std::vector<PassHandover>& handovers, const IncludesWaits& waits,
                 const std::vector<MarkedDevice>& devices, std::vector<std::string>& notes) {
  const bool is_fixable = shifts_can_fix(handovers, devices.size());
  for (const PassHandover& handover : handovers)
    if (handover.impossible > 0)
      notes.push_back(fmt::format(
          "the {} of {} and {} do not agree: {} {} before their input arrives, {} up to {} before "
          "{} ends; {}",
          is_fixable ? "clocks" : "passes", printable(devices[handover.from].name),
          printable(devices[handover.to].name), counted(handover.impossible, "pass"),
          waits[handover.to] ? "end" : "start", describe(handover.consumer),
          format_seconds(-handover.min_us * measured_microsecond), describe(handover.producer),
          is_fixable ? "--align shifts them"
                     : "no shift of clocks explains that; check the names and --microbatches"));
}

std::string align_note(const std::vector<double>& shifts,
                       const std::vector<MarkedDevice>& devices) {
  if (std::ranges::all_of(shifts, [](double shift) { return shift == 0; }))
    return "no clock is shifted: no shift would resolve a contradiction";
  std::string text;
  for (std::size_t device = 0; device < shifts.size(); ++device)
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", printable(devices[device].name),
                        format_seconds(shifts[device] * measured_microsecond));
  return "clocks are shifted: " + text;
}

// Aligns the clocks of devices if requested, and removes waits for input from passes.
void correct_times(std::vector<NumberedPass>& passes, const std::vector<MarkedDevice>& devices,
                   bool align, std::vector<std::string>& notes) {
  const IncludesWaits waits = passes_include_waits(passes, devices);
  std::vector<double> shifts(devices.size(), 0);
  if (align) {
    shifts = align_clocks(passes, waits, devices.size());
    notes.push_back(align_note(shifts, devices));
  }
  note_clocks(handovers(passes, waits), waits, devices, notes);
  cut_waits(passes, waits, devices, shifts, notes);
}

// Adds notes on passes that launched no kernels, and on devices whose times are those of the CPU.
void note_sources(const std::vector<Annotations>& files, const std::vector<MarkedDevice>& devices,
                  std::vector<std::string>& notes) {
  std::uint64_t idle = 0;
  for (const Annotations& file : files) idle += file.idle_passes;
  if (idle > 0)
    notes.push_back(
        fmt::format("{} launched no kernel; zero time is assumed", counted(idle, "pass")));
  std::string device_names;
  for (const MarkedDevice& device : devices)
    if (device.has_launch_times)
      device_names += (device_names.empty() ? "" : ", ") + printable(device.name);
  if (!device_names.empty())
    notes.push_back(
        fmt::format("the times of {} are those of the CPU, which launches work that the GPU runs "
                    "later: no kernel "
                    "of a pass is in the profile; ProfilerActivity.CUDA adds them",
                    device_names));
}

std::optional<double> min_handover(const std::vector<NumberedPass>& passes, std::size_t devices) {
  std::optional<double> minimum;
  for (const PassHandover& handover : handovers(passes, IncludesWaits(devices, false)))
    minimum = std::min(minimum.value_or(handover.min_us), handover.min_us);
  if (minimum) *minimum *= measured_microsecond;
  return minimum;
}

// Returns for each device the stages that it runs, in ascending order.
std::vector<std::vector<std::uint32_t>> device_stages(const std::vector<NumberedPass>& passes,
                                                      std::size_t devices) {
  std::vector<std::set<std::uint32_t>> stage_sets(devices);
  for (const NumberedPass& pass : passes) stage_sets[pass.device].insert(pass.stage);
  std::vector<std::vector<std::uint32_t>> lists;
  for (const auto& stages : stage_sets) lists.emplace_back(stages.begin(), stages.end());
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
  const auto stages = device_stages(passes, devices.size());
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
    const auto& pass_stages = stages[pass.device];
    trace.run.iterations = std::max(trace.run.iterations, iteration + 1);
    const double start = (pass.start_us - origin) * measured_microsecond;
    const double end = (pass.end_us - origin) * measured_microsecond;
    trace.passes.push_back({.device = pass.device,
                            .stage = pass.stage,
                            .chunk = static_cast<std::uint32_t>(
                                std::ranges::find(pass_stages, pass.stage) - pass_stages.begin()),
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
  const std::vector<MarkedDevice> devices = group_by_device(files);
  if (devices.empty()) fail_without_passes(files);
  for (const Annotations& file : files)
    if (file.passes.empty()) fail_without_passes({file});
  MeasuredRun run;
  std::vector<NumberedPass> passes = number_passes(devices, options.microbatches, run.notes);
  if (passes.empty()) throw trace::TraceError("no pass lies within a step of the profiler");
  const std::uint32_t microbatches =
      drop_partial_iterations(passes, options.skip.value_or(0), devices, run.notes);
  check_overlaps(passes, devices);
  note_sources(files, devices, run.notes);
  correct_times(passes, devices, options.align, run.notes);
  run.handover_s = min_handover(passes, devices.size());
  run.trace = to_trace(passes, devices, microbatches);
  return run;
}

namespace {

// Combines the annotations. An error message that names no file gets the name of the first file.
MeasuredRun combine_with_file_names(const std::vector<Annotations>& annotations,
                                    const std::vector<std::filesystem::path>& files,
                                    const ImportOptions& options) {
  try {
    return combine(annotations, options);
  } catch (const trace::TraceError& error) {
    const std::string message = error.what();
    const bool names_file = std::ranges::any_of(files, [&](const std::filesystem::path& file) {
      return message.starts_with(printable(file.string()));
    });
    if (names_file) throw;
    throw trace::TraceError(fmt::format("{}: {}", printable(files.front().string()), message));
  }
}

}  // namespace

MeasuredRun import_chrome(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options, const ReadProgress& progress) {
  AnnotationOptions annotation_options{
      .names = options.pattern ? PassNames(*options.pattern) : PassNames(),
      .category = options.category,
      .any_category = options.pattern.has_value()};
  std::vector<Annotations> annotations;
  for (std::size_t i = 0; i < files.size(); ++i)
    annotations.push_back(read_annotations(files[i], annotation_options, [&](double share) {
      if (progress) progress((static_cast<double>(i) + share) / static_cast<double>(files.size()));
    }));
  // Times in each file count from the file's own origin; shift them to that of the first file.
  for (Annotations& file : annotations) {
    const double later_us =
        static_cast<double>(file.header.base_ns - annotations.front().header.base_ns) * 1e-3;
    for (MarkedPass& pass : file.passes) {
      pass.start_us += later_us;
      pass.end_us += later_us;
      if (pass.launched_us) *pass.launched_us += later_us;
    }
    for (MarkedStep& step : file.steps) step.start_us += later_us;
    for (MarkedReceive& receive : file.receives) receive.end_us += later_us;
  }
  return combine_with_file_names(annotations, files, options);
}

MeasuredRun import_passes(const std::vector<std::filesystem::path>& files,
                          const ImportOptions& options, const ReadProgress& progress) {
  if (file_kind(files.front()) != FileKind::primus_passes)
    return import_chrome(files, options, progress);
  return combine_with_file_names(read_primus_passes(files), files, options);
}

}  // namespace pipewright::analysis
