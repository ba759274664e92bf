#include "analysis/trace/reader.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/sink.hpp"

namespace fs = std::filesystem;

namespace pipewright::trace {
namespace {

using Wrong = std::optional<std::string>;

struct Count {
  const char* name;
  std::uint64_t value;
  std::uint64_t limit;
};

struct Time {
  const char* name;
  double value;
};

Wrong check_counts(std::initializer_list<Count> counts) {
  for (const Count& count : counts)
    if (count.value >= count.limit)
      return fmt::format("{} is {}: less than {} was expected", count.name, count.value,
                         count.limit);
  return {};
}

// Engines merge events that are this close, so that one may seem to come before its cause.
constexpr double tolerance_s = 1e-9;

// Each is a time, and none is before the one before it.
Wrong check_times(std::initializer_list<Time> times) {
  Time before{"the start of the run", 0};
  for (const Time& time : times) {
    if (!std::isfinite(time.value) || time.value < 0)
      return fmt::format("{} is {}: seconds from the start of the run were expected", time.name,
                         time.value);
    if (time.value < before.value - tolerance_s)
      return fmt::format("{} is {}, before {} at {}", time.name, time.value, before.name,
                         before.value);
    before = time;
  }
  return {};
}

class TraceFile : public Hdf5Input {
 public:
  explicit TraceFile(const fs::path& path) : Hdf5Input(path, "trace", format_version) {}

  RunInfo run() const;
  std::vector<DeviceRow> devices(std::uint32_t expected) const;
  std::uint64_t count(const char* table) const { return rows(dataset(table), table); }
  // Calls visit(row, index) for each row of a table.
  template <class Row, class Visit>
  void each(Visit&& visit) const;

 private:
  std::string cluster() const;
};

RunInfo TraceFile::run() const {
  RunInfo run;
  for (const auto& field : text_fields)
    if (!field.may_lack || has_attribute(field.name)) run.*field.member = text(field.name);
  for (const auto& field : count_fields)
    if (!field.may_lack || has_attribute(field.name))
      run.*field.member = number<std::uint32_t>(field.name);
  for (const auto& field : real_fields) run.*field.member = number<double>(field.name);
  if (has_attribute(assumed_field))
    run.assumed = {text(assumed_gpu_field), split_keys(text(assumed_field))};
  run.cluster = cluster();
  return run;
}

std::string TraceFile::cluster() const {
  const Handle found = dataset("cluster");
  const Handle type(H5Dget_type(found.get()), H5Tclose);
  if (!is_fixed_text(type) || rows(found, "cluster") != 1)
    fail("dataset 'cluster' is not one text");
  const std::size_t size = H5Tget_size(type.get());
  std::string text(size, '\0');
  if (H5Dread(found.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0)
    fail("dataset 'cluster' is damaged: {}", last_failure());
  return trimmed(text.data(), size);
}

std::vector<DeviceRow> TraceFile::devices(std::uint32_t expected) const {
  std::vector<DeviceRow> devices =
      small_table<DeviceRow>(Table<DeviceRow>::name, Table<DeviceRow>::columns);
  if (devices.size() != expected)
    fail("table 'devices' has {} rows, but the run has {} devices", devices.size(), expected);
  for (std::uint32_t index = 0; index < expected; ++index)
    if (devices[index].device != index)
      fail("devices[{}].device is {}: {} was expected", index, devices[index].device, index);
  return devices;
}

template <class Row, class Visit>
void TraceFile::each(Visit&& visit) const {
  const char* table = Table<Row>::name;
  const Handle found = dataset(table);
  check_columns(found, table, Table<Row>::columns);
  const Handle type = memory_type(Table<Row>::columns, sizeof(Row));
  const Handle stored_rows(H5Dget_space(found.get()), H5Sclose);
  const hsize_t total = rows(found, table);

  std::vector<Row> buffer(std::min<hsize_t>(total, chunk_rows));
  for (hsize_t first = 0; first < total; first += chunk_rows) {
    const hsize_t count = std::min<hsize_t>(chunk_rows, total - first);
    const Handle piece(H5Screate_simple(1, &count, nullptr), H5Sclose);
    H5Sselect_hyperslab(stored_rows.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr);
    if (H5Dread(found.get(), type.get(), piece.get(), stored_rows.get(), H5P_DEFAULT,
                buffer.data()) < 0)
      fail("table '{}' is damaged at row {} or later: {}", table, first, last_failure());
    for (hsize_t i = 0; i < count; ++i) visit(buffer[i], first + i);
  }
}

}  // namespace

RowChecks::RowChecks(const RunInfo& run)
    : devices_(run.devices),
      chunks_(run.chunks),
      iterations_(run.iterations),
      microbatches_(std::uint64_t{run.microbatches} * run.slices * run.iterations),
      previous_(run.devices),
      memory_time_(run.devices, 0) {}

Wrong RowChecks::wrong(const StageRow& row) {
  stages_ = std::max(stages_, std::uint64_t{row.stage} + 1);
  return check_counts({{"device", row.device, devices_}, {"chunk", row.chunk, chunks_}});
}

Wrong RowChecks::wrong(const PassCollectiveRow& row) const {
  if (auto bad = check_counts({{"device", row.device, devices_}})) return bad;
  if (auto bad = check_times({{"seconds", row.seconds}})) return bad;
  return check_times({{"exposed", row.exposed}});
}

Wrong RowChecks::wrong(const PassRow& row) {
  if (auto bad = check_counts({{"device", row.device, devices_},
                               {"stage", row.stage, stages_},
                               {"chunk", row.chunk, chunks_},
                               {"microbatch", row.microbatch, microbatches_},
                               {"iteration", row.iteration, iterations_},
                               {"kind", static_cast<std::uint64_t>(row.kind), pass_kinds}}))
    return bad;
  if (auto bad = check_times({{"sent", row.sent},
                              {"ready", row.ready},
                              {"start", row.start},
                              {"end", row.end},
                              {"released", row.released}}))
    return bad;
  Span& previous = previous_[row.device];
  const bool fused = row.start == previous.start && row.end == previous.end &&
                     (row.kind == PassKind::forward) != (previous.kind == PassKind::forward);
  if (!fused && row.start < previous.end - tolerance_s)
    return fmt::format("start is {}, but the pass before on device {} ends at {}", row.start,
                       row.device, previous.end);
  previous = {row.start, row.end, row.kind};
  return {};
}

Wrong RowChecks::wrong(const TransferRow& row) {
  if (auto bad = check_counts({{"source", row.source, devices_},
                               {"destination", row.destination, devices_},
                               {"stage", row.stage, stages_},
                               {"microbatch", row.microbatch, microbatches_},
                               {"kind", static_cast<std::uint64_t>(row.kind), 2}}))
    return bad;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const MemoryRow& row) {
  if (auto bad =
          check_counts({{"device", row.device, devices_},
                        {"category", static_cast<std::uint64_t>(row.category), memory_categories}}))
    return bad;
  if (auto bad = check_times({{"time", row.time}})) return bad;
  if (row.time < memory_time_[row.device] - tolerance_s)
    return fmt::format("time is {}, before the row before of device {} at {}", row.time, row.device,
                       memory_time_[row.device]);
  memory_time_[row.device] = row.time;
  return {};
}

Wrong RowChecks::wrong(const CollectiveRow& row) const {
  if (auto bad = check_counts({{"device", row.device, devices_},
                               {"stage", row.stage, stages_},
                               {"iteration", row.iteration, iterations_},
                               {"kind", static_cast<std::uint64_t>(row.kind), collective_kinds}}))
    return bad;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const StepRow& row) const {
  if (auto bad = check_counts(
          {{"device", row.device, devices_}, {"iteration", row.iteration, iterations_}}))
    return bad;
  if (auto bad = check_times({{"gathering", row.gathering}})) return bad;
  return check_times({{"start", row.start},
                      {"reduced", row.reduced},
                      {"synchronized", row.synchronized},
                      {"updated", row.updated},
                      {"end", row.end}});
}

Wrong RowChecks::wrong(const LinkRow& row) {
  if (row.link != links_++) return fmt::format("link is {}: {} was expected", row.link, links_ - 1);
  if (!(row.bandwidth > 0))
    return fmt::format("bandwidth is {}: bytes/s above 0 were expected", row.bandwidth);
  return {};
}

Wrong RowChecks::wrong(const LinkUseRow& row) const {
  if (auto bad =
          check_counts({{"link", row.link, links_},
                        {"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes}}))
    return bad;
  if (auto bad = check_times({{"flows", row.flows}})) return bad;
  if (auto bad = check_times({{"waited", row.waited}})) return bad;
  return check_times({{"start", row.start}, {"end", row.end}});
}

Wrong RowChecks::wrong(const PathRow& row) const {
  if (auto bad =
          check_counts({{"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes},
                        {"source", row.source, devices_},
                        {"destination", row.destination, devices_},
                        {"stage", row.stage, stages_}}))
    return bad;
  if (row.link != no_link)
    if (auto bad = check_counts({{"link", row.link, links_}})) return bad;
  return check_times({{"alone", row.alone}});
}

void replay(const fs::path& path, Sink& sink) {
  const QuietHdf5 quiet;
  const TraceFile file(path);
  const RunInfo run = file.run();
  const std::vector<DeviceRow> devices = file.devices(run.devices);

  RowChecks checks(run);
  const auto checked = [&](const auto& row, hsize_t index) -> decltype(row) {
    using Row = std::remove_cvref_t<decltype(row)>;
    if (const auto wrong = checks.wrong(row))
      file.fail("{}[{}].{}", Table<Row>::name, index, *wrong);
    return row;
  };
  std::vector<StageRow> stages;
  file.each<StageRow>([&](const StageRow& row, hsize_t i) { stages.push_back(checked(row, i)); });
  sink.begin(run, devices, stages);
  const auto each_of_small = [&]<class Row>(void (Sink::*take)(const Row&)) {
    const std::vector<Row> rows = file.small_table<Row>(Table<Row>::name, Table<Row>::columns);
    for (std::size_t i = 0; i < rows.size(); ++i) (sink.*take)(checked(rows[i], i));
  };
  if (file.has(Table<PassCollectiveRow>::name))  // older files have none
    each_of_small(&Sink::pass_collective);
  file.each<PassRow>([&](const PassRow& row, hsize_t i) { sink.pass(checked(row, i)); });
  file.each<TransferRow>(
      [&](const TransferRow& row, hsize_t i) { sink.transfer(checked(row, i)); });
  file.each<MemoryRow>([&](const MemoryRow& row, hsize_t i) { sink.memory(checked(row, i)); });
  file.each<CollectiveRow>(
      [&](const CollectiveRow& row, hsize_t i) { sink.collective(checked(row, i)); });
  file.each<StepRow>([&](const StepRow& row, hsize_t i) { sink.step(checked(row, i)); });
  if (file.has(Table<LinkRow>::name)) {  // older files have none of these
    each_of_small(&Sink::link);
    file.each<LinkUseRow>(
        [&](const LinkUseRow& row, hsize_t i) { sink.link_use(checked(row, i)); });
    file.each<PathRow>([&](const PathRow& row, hsize_t i) { sink.path(checked(row, i)); });
  }
  sink.finish();
}

std::uint64_t count_rows(const fs::path& path) {
  const QuietHdf5 quiet;
  const TraceFile file(path);
  std::uint64_t rows = 0;
  for (const char* table :
       {Table<PassRow>::name, Table<TransferRow>::name, Table<MemoryRow>::name,
        Table<CollectiveRow>::name, Table<StepRow>::name, Table<LinkUseRow>::name})
    if (file.has(table)) rows += file.count(table);
  return rows;
}

Trace read_trace(const fs::path& path) {
  TraceCollector collector;
  replay(path, collector);
  return std::move(collector.trace);
}

}  // namespace pipewright::trace
