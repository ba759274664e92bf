#include "sim/cli/trace/measured.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/base/numbers.hpp"
#include "sim/cli/progress.hpp"
#include "sim/execution/recorder.hpp"

namespace pipewright::cli {
namespace {

std::uint32_t number(const po::variables_map& flags, const char* option, std::uint32_t minimum) {
  const std::string text = flags[option].as<std::string>();
  const std::optional<std::uint32_t> value = base::parse_number<std::uint32_t>(text);
  if (!value || *value < minimum)
    throw UsageError(fmt::format("--{} is '{}'", option, analysis::printable(text)))
        .allow(fmt::format("a whole number of at least {}", minimum));
  return *value;
}

using schedules::Schedule;

// Device of each stage. Throws schedules::Error for a stage with none or several.
schedules::Routes routes_of(const trace::Trace& trace) {
  constexpr std::uint32_t no_device = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> device_of;
  for (const trace::StageRow& row : trace.stages) {
    if (row.stage > std::numeric_limits<std::uint16_t>::max())
      throw schedules::Error(
          fmt::format("stage {} exceeds the largest stage number of a schedule", row.stage));
    if (device_of.size() <= row.stage) device_of.resize(row.stage + 1, no_device);
    if (device_of[row.stage] != no_device)
      throw schedules::Error(fmt::format("stage {} is on device {} and on device {}", row.stage,
                                         device_of[row.stage], row.device));
    device_of[row.stage] = row.device;
  }
  if (std::ranges::find(device_of, no_device) != device_of.end())
    throw schedules::Error("some stages have no measured passes");
  return schedules::Routes({device_of});
}

}  // namespace

void add_measured_options(po::options_description& options) {
  auto add = options.add_options();
  add("skip", one_word("N"),
      "skip the first N iterations (0; of a log: those before its times are steady)");
  add("run", one_word("N"), "select the N-th run of a log (the last)");
  add("pattern", one_word("REGEX"), "regular expression of the annotations that mark passes");
  add("category", one_word("NAME"), "read only events of this category, such as user_annotation");
  add("microbatches", one_word("N"),
      "number of microbatches per iteration, for annotations without numbers");
  add("align", "shift the clocks of ranks whose times contradict each other");
}

analysis::ImportOptions measured_options(const po::variables_map& flags) {
  analysis::ImportOptions options;
  if (flags.count("pattern") != 0) options.pattern = flags["pattern"].as<std::string>();
  if (flags.count("category") != 0) options.category = flags["category"].as<std::string>();
  if (flags.count("microbatches") != 0) options.microbatches = number(flags, "microbatches", 1);
  if (flags.count("skip") != 0) options.skip = number(flags, "skip", 0);
  if (flags.count("run") != 0) options.run = number(flags, "run", 1);
  options.align = flags.count("align") != 0;
  return options;
}

std::vector<std::filesystem::path> expand_ranks(const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names)
    for (auto& file : analysis::rank_files(name)) files.push_back(std::move(file));
  return files;
}

analysis::MeasuredRun read_measured(const std::vector<std::filesystem::path>& files,
                                    const analysis::ImportOptions& options) {
  ProgressBar bar("reading", true);
  return analysis::import_passes(files, options, [&](double share) {
    if (bar.is_due()) bar.draw(share, fmt::format("{} files", files.size()));
  });
}

std::string measured_name(const std::vector<std::filesystem::path>& files) {
  const std::string first = files.front().string();
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

analysis::PassOrder order_of(const Schedule& schedule) {
  analysis::PassOrder order;
  for (const schedules::Program& program : schedule.programs) {
    order.emplace_back();
    for (const schedules::Pass& pass : schedules::passes_of(program))
      order.back().push_back({.iteration = 0,
                              .microbatch = pass.microbatch,
                              .stage = pass.stage,
                              .kind = execution::kind_in_trace(pass.kind)});
  }
  return order;
}

Schedule measured_schedule(const trace::Trace& trace) {
  Schedule schedule{.name = "measured",
                    .devices = trace.run.devices,
                    .chunks = trace.run.chunks,
                    .microbatches = trace.run.microbatches,
                    .recomputed = {},
                    .routes = routes_of(trace),
                    .programs = {}};
  std::vector<std::vector<schedules::Pass>> passes(trace.run.devices);
  const trace::PassRow* previous = nullptr;
  for (const trace::PassRow& row : trace.passes) {  // by device and start
    if (row.iteration > 0) continue;
    auto& device_passes = passes[row.device];
    const bool is_fused = previous != nullptr && previous->device == row.device &&
                          previous->start == row.start && previous->end == row.end &&
                          previous->end > previous->start;
    if (is_fused) device_passes.back().fused = true;
    device_passes.push_back({execution::kind_in_schedule(row.kind),
                             static_cast<std::uint16_t>(row.stage), row.microbatch, false});
    previous = &row;
  }
  for (const auto& device_passes : passes)
    schedule.programs.push_back(schedules::fold(device_passes));
  return schedule;
}

const schedules::Entry* catalog_entry(const trace::Trace& trace) {
  std::vector<analysis::TimedPass> passes;
  for (const trace::PassRow& row : trace.passes)
    if (row.iteration == 0) passes.push_back(analysis::timed(row));
  const analysis::PassOrder order = analysis::order_of(std::move(passes), trace.run.devices);
  for (const schedules::Entry& entry : schedules::catalog()) {
    if (entry.takes(&schedules::Parameters::slices)) continue;  // a profile has no slices
    schedules::Parameters parameters{.devices = trace.run.devices,
                                     .microbatches = trace.run.microbatches};
    if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = trace.run.chunks;
    try {
      const Schedule schedule = schedules::make_schedule(entry.name, parameters);
      if (schedule.chunks == trace.run.chunks && order_of(schedule) == order) return &entry;
    } catch (const schedules::Error&) {
      continue;  // the schedule does not exist for these sizes
    }
  }
  return nullptr;
}

}  // namespace pipewright::cli
