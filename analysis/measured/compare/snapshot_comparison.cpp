#include "analysis/measured/compare/snapshot_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

// Share of the memory below which a change during the recording is no growth.
constexpr double noticeable = 0.01;

MeasuredMemory measured_memory(const MemorySnapshot& snapshot) {
  MeasuredMemory memory{.between = snapshot.allocated, .most = snapshot.most};
  if (!snapshot.has_history) return memory;
  memory.peak_allocated = snapshot.later_peak;
  memory.peak_reserved = snapshot.peak_reserved;
  if (std::abs(snapshot.begin - snapshot.allocated) > noticeable * snapshot.allocated)
    memory.begin = snapshot.begin;
  if (snapshot.from_before > noticeable * snapshot.allocated) {
    memory.from_before = snapshot.from_before;
    for (const auto& [category, bytes] : snapshot.most) memory.recorded.insert(category);
  }
  return memory;
}

void add_notes(const MemorySnapshot& snapshot, std::vector<std::string>& notes) {
  const std::string file = printable(snapshot.file.string());
  const auto bytes = [](double value) { return format_value(MetricKind::bytes, value); };
  if (!snapshot.has_history)
    notes.push_back(fmt::format(
        "{} has no history, so the memory at the time of the snapshot is compared; call "
        "torch.cuda.memory._record_memory_history() before the iteration to record the peak",
        file));
  if (snapshot.later_peak > snapshot.peak_allocated)
    notes.push_back(fmt::format(
        "{}: the recorded peak is {}, before the optimizer created its state; with this state, as "
        "in later iterations, it is {}",
        file, bytes(snapshot.peak_allocated), bytes(snapshot.later_peak)));
  if (snapshot.from_before > noticeable * snapshot.allocated)
    notes.push_back(fmt::format(
        "{}: {} were allocated before the recording began, so no stack tells their purpose; they "
        "are compared with the state that the recording lacks",
        file, bytes(snapshot.from_before)));
  const double unknown = snapshot.unattributed - snapshot.from_before;
  if (unknown > 0.5 * snapshot.peak_allocated)
    notes.push_back(fmt::format("{}: {} at the peak have no stack that tells their purpose", file,
                                bytes(unknown)));
}

// Returns the memory over time in at most 512 points, enough for a picture. Each point is the
// maximum over a run of consecutive actions.
Json over_time(const MemorySnapshot& snapshot) {
  constexpr std::size_t max_points = 512;
  const std::size_t stretch = snapshot.over_time.size() / max_points + 1;
  Json points = Json::array();
  for (std::size_t from = 0; from < snapshot.over_time.size(); from += stretch) {
    const auto begin = snapshot.over_time.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min(stretch, snapshot.over_time.size() - from));
    const auto top = std::max_element(
        begin, end, [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    points.push_back({{"time_s", top->time_s}, {"bytes", top->bytes}});
  }
  return points;
}

Metrics peak_metrics(std::optional<double> peak) {
  return {{"peak_memory_bytes", "peak memory", MetricKind::bytes, peak}};
}

}  // namespace

SnapshotComparison compare_snapshots(const RunFigures& predicted,
                                     const std::vector<std::filesystem::path>& files) {
  SnapshotComparison result;
  std::map<std::uint32_t, MeasuredMemory> ranks;
  for (const std::filesystem::path& file : files) {
    MemorySnapshot snapshot = read_snapshot(file);
    ranks[static_cast<std::uint32_t>(ranks.size())] = measured_memory(snapshot);
    add_notes(snapshot, result.notes);
    result.snapshots.push_back(std::move(snapshot));
  }
  result.memory = compare_memory(predicted, ranks);
  return result;
}

Metrics predicted_metrics(const SnapshotComparison& comparison) {
  return peak_metrics(predicted_peak(comparison.memory));
}

Metrics measured_metrics(const SnapshotComparison& comparison) {
  return peak_metrics(measured_peak(comparison.memory));
}

std::string console_text(const SnapshotComparison& comparison) {
  std::string text =
      fmt::format("predicted  {}\nmeasured   {}\n", printable(comparison.predicted_name),
                  printable(comparison.measured_name));
  text += '\n' + table_text(memory_columns(), comparison.memory);
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const SnapshotComparison& comparison) {
  Json json;
  json["predicted"] = comparison.predicted_name;
  json["measured"] = comparison.measured_name;
  json["memory"] = json_rows(memory_columns(), comparison.memory);
  json["allocated"] = Json::array();
  for (const MemorySnapshot& snapshot : comparison.snapshots)
    json["allocated"].push_back(over_time(snapshot));
  json["notes"] = comparison.notes;
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
