#include "sim/cli/trace/measured.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/cli/progress.hpp"
#include "sim/execution/recorder.hpp"

namespace pipewright::cli {
namespace {

std::uint32_t number(const po::variables_map& given, const char* option, std::uint32_t least) {
  const std::string text = given[option].as<std::string>();
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    throw UsageError(fmt::format("--{} is '{}'; allowed: a whole number from {} on", option,
                                 analysis::printable(text), least));
  return value;
}

using schedules::Schedule;

// A stage's device; every stage has one.
schedules::Routes routes_of(const trace::Trace& trace) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> device_of;
  for (const trace::StageRow& row : trace.stages) {
    if (row.stage > std::numeric_limits<std::uint16_t>::max())
      throw schedules::Error(fmt::format("stage {} is more than a schedule can number", row.stage));
    if (device_of.size() <= row.stage) device_of.resize(row.stage + 1, none);
    if (device_of[row.stage] != none)
      throw schedules::Error(fmt::format("stage {} is on device {} and on device {}", row.stage,
                                         device_of[row.stage], row.device));
    device_of[row.stage] = row.device;
  }
  if (std::ranges::find(device_of, none) != device_of.end())
    throw schedules::Error("not every stage was measured");
  return schedules::Routes({device_of});
}

}  // namespace

void add_measured_options(po::options_description& options) {
  auto add = options.add_options();
  add("skip", one_word("N"), "leave out the first N iterations (0)");
  add("run", one_word("N"), "of several runs in one log the N-th (the last)");
  add("pattern", one_word("REGEX"), "how annotations that mark passes are called");
  add("category", one_word("NAME"), "only events of this category, such as user_annotation");
  add("microbatches", one_word("N"), "of an iteration, where annotations have no numbers");
  add("align", "shift the clocks of ranks that contradict each other");
}

analysis::ImportOptions measured_options(const po::variables_map& given) {
  analysis::ImportOptions options;
  if (given.count("pattern") != 0) options.pattern = given["pattern"].as<std::string>();
  if (given.count("category") != 0) options.category = given["category"].as<std::string>();
  if (given.count("microbatches") != 0) options.microbatches = number(given, "microbatches", 1);
  if (given.count("skip") != 0) options.skip = number(given, "skip", 0);
  if (given.count("run") != 0) options.run = number(given, "run", 1);
  options.align = given.count("align") != 0;
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
  const trace::PassRow* before = nullptr;
  for (const trace::PassRow& row : trace.passes) {  // by device and start
    if (row.iteration > 0) continue;
    auto& own = passes[row.device];
    const bool fused = before != nullptr && before->device == row.device &&
                       before->start == row.start && before->end == row.end &&
                       before->end > before->start;
    if (fused) own.back().fused = true;
    own.push_back({execution::kind_in_schedule(row.kind), static_cast<std::uint16_t>(row.stage),
                   row.microbatch, false});
    before = &row;
  }
  for (const auto& own : passes) schedule.programs.push_back(schedules::fold(own));
  return schedule;
}

const schedules::Entry* catalog_entry(const trace::Trace& trace) {
  std::vector<analysis::TimedPass> passes;
  for (const trace::PassRow& row : trace.passes)
    if (row.iteration == 0) passes.push_back(analysis::timed(row));
  const analysis::PassOrder order = analysis::order_of(std::move(passes), trace.run.devices);
  for (const schedules::Entry& entry : schedules::catalog()) {
    if (entry.takes(&schedules::Parameters::slices)) continue;  // a profile tells no slices
    schedules::Parameters parameters{.devices = trace.run.devices,
                                     .microbatches = trace.run.microbatches};
    if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = trace.run.chunks;
    try {
      const Schedule known = schedules::make_schedule(entry.name, parameters);
      if (known.chunks == trace.run.chunks && order_of(known) == order) return &entry;
    } catch (const schedules::Error&) {
      continue;  // it cannot do these sizes
    }
  }
  return nullptr;
}

}  // namespace pipewright::cli
