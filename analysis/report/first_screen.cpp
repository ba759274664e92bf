#include "analysis/report/first_screen.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_notes = 3;

// "Llama 3 70B on 64 H100 SXM (dgx-h100-8): tp 8 + sp, pp 4", or for a pipeline of given pass times
// "2 replicas x 4 devices, 8 microbatches (ideal network)".
std::string identifying_line(const Summary& summary) {
  const trace::RunInfo& run = summary.run;
  std::string line;
  if (summary.job && !summary.job->model.empty()) {
    line = job_title(*summary.job, gpus(run), printable(run.network));
  } else {
    line = counted(run.devices, "device");
    if (run.ranks_per_stage > 1)
      line += fmt::format(" of {}{} GPUs", run.gpus > 0 ? "up to " : "", run.ranks_per_stage);
    if (run.replicas > 1) line = fmt::format("{} replicas x {}", run.replicas, line);
    line +=
        fmt::format(", {} ({})", counted(run.microbatches, "microbatch"), printable(run.network));
  }
  if (run.iterations > 1) line += fmt::format(", {} iterations", run.iterations);
  if (run.p2p == "steady")
    line += ", blocking transfers in warm-up and cool-down";
  else if (run.p2p != "eager")
    line += fmt::format(", {} transfers", printable(run.p2p));
  if (run.engine != "simgrid") line += fmt::format(", {} engine", printable(run.engine));
  return line;
}

// Formats a column of values in one common unit and writes the unit into each cell.
template <class Value>
std::vector<std::string> cells_with_unit(std::span<const Summary> runs, const ColumnScale& scale,
                                         const Value& value_of) {
  std::vector<std::string> cells;
  for (const Summary& run : runs) {
    const std::optional<double> value = value_of(run);
    cells.push_back(value ? fmt::format("{} {}", scale(*value), scale.unit) : "-");
    while (cells.back().ends_with(' ')) cells.back().pop_back();
  }
  return cells;
}

template <class Value>
double largest_value(std::span<const Summary> runs, const Value& value_of) {
  double largest = 0;
  for (const Summary& run : runs)
    largest = std::max(largest, std::optional<double>(value_of(run)).value_or(0));
  return largest;
}

void add_times(TextTable& table, std::span<const Summary> runs,
               std::span<const SeedSpread> spreads) {
  const auto iteration_s = [](const Summary& run) {
    return run.makespan_s / std::max(1U, run.run.iterations);
  };
  const ColumnScale scale = time_scale(largest_value(runs, iteration_s), 4);
  std::vector<std::string> heading{"iteration"};
  if (const std::uint32_t iterations = runs.front().run.iterations; iterations > 1)
    heading.push_back(fmt::format("mean of {}", iterations));
  table.add_numbers(std::move(heading), cells_with_unit(runs, scale, iteration_s));
  if (spreads.empty()) return;
  std::vector<std::string> medians;
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const double iterations = std::max(1U, runs[i].run.iterations);
    const SeedSpread& spread = spreads[i];
    medians.push_back(fmt::format("{} {}", scale(spread.median_s / iterations), scale.unit));
    ranges.push_back(fmt::format("{} to {} {}", scale(spread.p05_s / iterations),
                                 scale(spread.p95_s / iterations), scale.unit));
  }
  const std::string seeds = fmt::format("{} seeds", spreads.front().seeds);
  table.add_numbers({"median of", seeds}, std::move(medians));
  table.add_numbers({"90 % of", seeds}, std::move(ranges));
}

// Adds a column of tokens/s or, if no run has a number of tokens, one of samples/s.
void add_throughput(TextTable& table, std::span<const Summary> runs) {
  for (const auto& [heading, rate] : {std::pair{"tokens/s", &Summary::tokens_per_s},
                                      std::pair{"samples/s", &Summary::samples_per_s}}) {
    const auto rate_of = [&rate = rate](const Summary& run) { return run.*rate; };
    if (std::ranges::none_of(runs, [&](const Summary& run) { return rate_of(run).has_value(); }))
      continue;
    ColumnScale scale = rate_scale(largest_value(runs, rate_of));
    scale.unit.resize(scale.unit.size() - 2);  // without the "/s" of the heading
    table.add_numbers({heading}, cells_with_unit(runs, scale, rate_of));
    return;
  }
}

void add_mfu(TextTable& table, std::span<const Summary> runs) {
  if (std::ranges::none_of(runs, [](const Summary& run) { return run.mfu.has_value(); })) return;
  std::vector<std::string> heading{"MFU"};
  if (std::ranges::any_of(runs, [](const Summary& run) { return run.mfu_precision != run.mfu; }))
    heading.emplace_back("of bf16 peak");
  std::vector<std::string> cells;
  for (const Summary& run : runs) cells.push_back(run.mfu ? format_percent(*run.mfu) : "-");
  table.add_numbers(std::move(heading), std::move(cells));
}

// Returns the device that uses the largest share of its capacity, or the device with the highest
// peak if capacities are unknown. Null without devices.
const DeviceSummary* tightest_device(const Summary& run) {
  const auto fullness = [](const DeviceSummary& device) {
    const auto peak = static_cast<double>(device.peak_memory_bytes);
    const auto capacity = static_cast<double>(device.memory_capacity_bytes);
    return std::pair{capacity > 0 ? peak / capacity : 0, peak};
  };
  const auto device = std::ranges::max_element(run.devices, {}, fullness);
  return device == run.devices.end() ? nullptr : &*device;
}

void add_memory(TextTable& table, std::span<const Summary> runs) {
  double largest = 0;
  for (const Summary& run : runs)
    for (const DeviceSummary& device : run.devices)
      largest = std::max({largest, static_cast<double>(device.peak_memory_bytes),
                          static_cast<double>(device.memory_capacity_bytes)});
  const ColumnScale scale = memory_scale(largest);
  std::vector<std::string> peaks;
  std::vector<std::string> verdicts;
  for (const Summary& run : runs) {
    const DeviceSummary* const device = tightest_device(run);
    std::string peak = "-";
    if (device != nullptr && device->peak_memory_bytes > 0) {
      peak = scale(static_cast<double>(device->peak_memory_bytes));
      if (device->memory_capacity_bytes > 0)
        peak += " of " + scale(static_cast<double>(device->memory_capacity_bytes));
      peak += ' ' + scale.unit;
    }
    peaks.push_back(std::move(peak));
    verdicts.emplace_back(fits(run) ? "" : "does not fit");
  }
  if (std::ranges::all_of(peaks, [](const std::string& peak) { return peak == "-"; })) return;
  table.add_numbers({"peak memory"}, std::move(peaks));
  if (!std::ranges::all_of(runs, fits)) table.add_names("", std::move(verdicts));
}

std::string first_table(std::span<const Summary> runs, std::span<const SeedSpread> spreads) {
  TextTable table;
  table.add_names("schedule", names_of(runs));
  add_times(table, runs, spreads);
  add_throughput(table, runs);
  add_mfu(table, runs);
  std::vector<std::string> bubbles;
  std::vector<std::string> exposed;
  for (const Summary& run : runs) {
    bubbles.push_back(format_percent(run.bubble_ratio));
    exposed.push_back(
        format_percent(run.makespan_s > 0 ? exposed_communication(run) / run.makespan_s : 0));
  }
  table.add_numbers({"bubble"}, std::move(bubbles));
  table.add_numbers({"exposed comm"}, std::move(exposed));
  add_memory(table, runs);
  constexpr std::size_t terminal_columns = 100;
  constexpr std::size_t gap = 3;
  return table.text(terminal_columns, gap);
}

// Returns a note that describes the first run that does not fit into memory in full and lists the
// names of the other such runs.
std::optional<std::string> memory_note(std::span<const Summary> runs) {
  const std::vector<std::string> names = names_of(runs);
  std::string note;
  std::vector<std::string> further;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (fits(runs[i])) continue;
    if (note.empty())
      note = over_capacity_text(runs[i], names[i]);
    else
      further.push_back(names[i]);
  }
  if (note.empty()) return std::nullopt;
  if (!further.empty())
    note += fmt::format("; {} {} not fit either", fmt::join(further, ", "),
                        further.size() == 1 ? "does" : "do");
  return note;
}

}  // namespace

std::string note_lines(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string first_screen(std::span<const Summary> runs, std::span<const SeedSpread> spreads,
                         const std::vector<std::string>& notes) {
  if (runs.empty()) return "";
  std::vector<std::string> ranked;
  if (std::optional<std::string> note = memory_note(runs)) ranked.push_back(std::move(*note));
  if (const auto& job = runs.front().job; job && !job->untried.empty())
    ranked.push_back(fmt::format(
        "collectives of {} are outside the cluster's record: no measurement was compared "
        "with them",
        printable(job->untried)));
  ranked.insert(ranked.end(), notes.begin(), notes.end());
  const std::vector<std::string> names = names_of(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (std::string note = uneven_text(runs[i], runs.size() > 1 ? names[i] : std::string());
        !note.empty())
      ranked.push_back(std::move(note));
  const std::size_t hidden = ranked.size() - std::min(ranked.size(), max_notes);
  ranked.resize(ranked.size() - hidden);
  std::string text = identifying_line(runs.front()) + "\n\n" + first_table(runs, spreads);
  if (const std::string errors = expected_error_lines(evidence_of(runs)); !errors.empty())
    text += '\n' + errors;
  if (!ranked.empty()) text += '\n' + note_lines(ranked);
  if (hidden > 0) text += fmt::format("({} with --details)\n", counted(hidden, "more note"));
  return text;
}

}  // namespace pipewright::analysis
