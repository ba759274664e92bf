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

using RowError = std::optional<std::string>;

struct BoundedCount {
  const char* name;
  std::uint64_t value;
  std::uint64_t limit;
};

struct NamedTime {
  const char* name;
  double value;
};

RowError check_counts(std::initializer_list<BoundedCount> counts) {
  for (const BoundedCount& count : counts)
    if (count.value >= count.limit)
      return fmt::format("{} is {}; expected less than {}", count.name, count.value, count.limit);
  return {};
}

// Engines merge events that are this close, so an event may seem to precede its cause.
constexpr double row_tolerance_s = 1e-9;

// Checks that the values are finite times of at least 0 s, and in ascending order.
RowError check_times(std::initializer_list<NamedTime> times) {
  NamedTime previous{"the start of the run", 0};
  for (const NamedTime& time : times) {
    if (!std::isfinite(time.value) || time.value < 0)
      return fmt::format("{} is {}; expected seconds since the start of the run", time.name,
                         time.value);
    if (time.value < previous.value - row_tolerance_s)
      return fmt::format("{} is {}, before {} at {}", time.name, time.value, previous.name,
                         previous.value);
    previous = time;
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
  void for_each_row(Visit&& visit) const;

 private:
  std::string cluster() const;
};

RunInfo TraceFile::run() const {
  RunInfo run;
  for (const auto& field : text_fields)
    if (!field.is_optional || has_attribute(field.name)) run.*field.member = text(field.name);
  for (const auto& field : count_fields)
    if (!field.is_optional || has_attribute(field.name))
      run.*field.member = number<std::uint32_t>(field.name);
  for (const auto& field : real_fields) run.*field.member = number<double>(field.name);
  if (has_attribute(assumed_field))
    run.evidence = {text(assumed_gpu_field), split_keys(text(assumed_field))};
  if (has_attribute(error_rows_field)) {
    ExpectedError& error = run.evidence.expected_error;
    for (const ErrorField& field : error_reals)
      error.*field.member = number<double>(field.attribute);
    error.basis = text(error_basis_field);
    error.rows = number<std::uint32_t>(error_rows_field);
  }
  run.cluster = cluster();
  return run;
}

std::string TraceFile::cluster() const {
  const Handle opened = dataset("cluster");
  const Handle type(H5Dget_type(opened.get()), H5Tclose);
  if (!is_fixed_text(type) || rows(opened, "cluster") != 1)
    fail("dataset 'cluster' is not a single text");
  const std::size_t size = H5Tget_size(type.get());
  std::string text(size, '\0');
  if (H5Dread(opened.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0)
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
      fail("devices[{}].device is {}; expected {}", index, devices[index].device, index);
  return devices;
}

template <class Row, class Visit>
void TraceFile::for_each_row(Visit&& visit) const {
  const char* table = Table<Row>::name;
  const Handle opened = dataset(table);
  check_columns(opened, table, Table<Row>::columns);
  const Handle type = memory_type(Table<Row>::columns, sizeof(Row));
  const Handle stored_rows(H5Dget_space(opened.get()), H5Sclose);
  const hsize_t total = rows(opened, table);

  std::vector<Row> buffer(std::min<hsize_t>(total, chunk_rows));
  for (hsize_t first = 0; first < total; first += chunk_rows) {
    const hsize_t count = std::min<hsize_t>(chunk_rows, total - first);
    const Handle piece(H5Screate_simple(1, &count, nullptr), H5Sclose);
    H5Sselect_hyperslab(stored_rows.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr);
    if (H5Dread(opened.get(), type.get(), piece.get(), stored_rows.get(), H5P_DEFAULT,
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
      replicas_(run.replicas),
      microbatches_(std::uint64_t{run.microbatches} * run.slices * run.iterations),
      previous_(run.devices),
      memory_time_(run.devices, 0) {}

RowError RowChecks::error_in(const StageRow& row) {
  stages_ = std::max(stages_, std::uint64_t{row.stage} + 1);
  return check_counts({{"device", row.device, devices_}, {"chunk", row.chunk, chunks_}});
}

RowError RowChecks::error_in(const PassCollectiveRow& row) const {
  if (auto error = check_counts({{"device", row.device, devices_}})) return error;
  if (auto error = check_times({{"seconds", row.seconds}})) return error;
  return check_times({{"exposed", row.exposed}});
}

RowError RowChecks::error_in(const PassRow& row) {
  if (auto error = check_counts({{"device", row.device, devices_},
                                 {"stage", row.stage, stages_},
                                 {"chunk", row.chunk, chunks_},
                                 {"microbatch", row.microbatch, microbatches_},
                                 {"iteration", row.iteration, iterations_},
                                 {"kind", static_cast<std::uint64_t>(row.kind), pass_kinds}}))
    return error;
  if (auto error = check_times({{"sent", row.sent},
                                {"ready", row.ready},
                                {"start", row.start},
                                {"end", row.end},
                                {"released", row.released}}))
    return error;
  Span& previous = previous_[row.device];
  // A fused pair has a forward and another pass, which may be a forward too.
  const bool may_pair = (row.kind == PassKind::forward || previous.kind == PassKind::forward) &&
                        (row.kind != previous.kind || row.microbatch != previous.microbatch);
  const bool is_fused = may_pair && row.start == previous.start && row.end == previous.end;
  if (!is_fused && row.start < previous.end - row_tolerance_s)
    return fmt::format("start is {}, but the previous pass on device {} ends at {}", row.start,
                       row.device, previous.end);
  previous = {row.start, row.end, row.kind, row.microbatch};
  return {};
}

RowError RowChecks::error_in(const TransferRow& row) {
  if (auto error = check_counts({{"source", row.source, devices_},
                                 {"destination", row.destination, devices_},
                                 {"stage", row.stage, stages_},
                                 {"microbatch", row.microbatch, microbatches_},
                                 {"kind", static_cast<std::uint64_t>(row.kind), 2}}))
    return error;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

RowError RowChecks::error_in(const MemoryRow& row) {
  if (auto error =
          check_counts({{"device", row.device, devices_},
                        {"category", static_cast<std::uint64_t>(row.category), memory_categories}}))
    return error;
  if (auto error = check_times({{"time", row.time}})) return error;
  if (row.time < memory_time_[row.device] - row_tolerance_s)
    return fmt::format("time is {}, but the previous row of device {} is at {}", row.time,
                       row.device, memory_time_[row.device]);
  memory_time_[row.device] = row.time;
  return {};
}

RowError RowChecks::error_in(const CollectiveRow& row) const {
  if (auto error = check_counts({{"device", row.device, devices_},
                                 {"stage", row.stage, stages_},
                                 {"iteration", row.iteration, iterations_},
                                 {"kind", static_cast<std::uint64_t>(row.kind), collective_kinds}}))
    return error;
  return check_times({{"posted", row.posted}, {"start", row.start}, {"end", row.end}});
}

RowError RowChecks::error_in(const StepRow& row) const {
  if (auto error = check_counts(
          {{"device", row.device, devices_}, {"iteration", row.iteration, iterations_}}))
    return error;
  if (auto error = check_times({{"gathering", row.gathering}})) return error;
  return check_times({{"start", row.start},
                      {"reduced", row.reduced},
                      {"synchronized", row.synchronized},
                      {"updated", row.updated},
                      {"end", row.end}});
}

RowError RowChecks::error_in(const WaitRow& row) const {
  if (auto error = check_counts({{"iteration", row.iteration, iterations_},
                                 {"event", static_cast<std::uint64_t>(row.event), wait_events},
                                 {"stage", row.stage, stages_},
                                 {"replica", row.replica, replicas_},
                                 {"device", row.device, devices_}}))
    return error;
  return check_times({{"time", row.time}});
}

RowError RowChecks::error_in(const LinkRow& row) {
  if (row.link != links_++) return fmt::format("link is {}; expected {}", row.link, links_ - 1);
  if (!(row.bandwidth > 0))
    return fmt::format("bandwidth is {}; expected bytes/s above 0", row.bandwidth);
  return {};
}

RowError RowChecks::error_in(const LinkUseRow& row) const {
  if (auto error =
          check_counts({{"link", row.link, links_},
                        {"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes}}))
    return error;
  if (auto error = check_times({{"flows", row.flows}})) return error;
  if (auto error = check_times({{"waited", row.waited}})) return error;
  return check_times({{"start", row.start}, {"end", row.end}});
}

RowError RowChecks::error_in(const PathRow& row) const {
  if (auto error =
          check_counts({{"traffic", static_cast<std::uint64_t>(row.traffic), traffic_classes},
                        {"source", row.source, devices_},
                        {"destination", row.destination, devices_},
                        {"stage", row.stage, stages_}}))
    return error;
  if (row.link != no_link)
    if (auto error = check_counts({{"link", row.link, links_}})) return error;
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
    if (const auto error = checks.error_in(row))
      file.fail("{}[{}].{}", Table<Row>::name, index, *error);
    return row;
  };
  std::vector<StageRow> stages;
  file.for_each_row<StageRow>(
      [&](const StageRow& row, hsize_t i) { stages.push_back(checked(row, i)); });
  sink.begin(run, devices, stages);
  const auto for_each_small_row = [&]<class Row>(void (Sink::*take)(const Row&)) {
    const std::vector<Row> rows = file.small_table<Row>(Table<Row>::name, Table<Row>::columns);
    for (std::size_t i = 0; i < rows.size(); ++i) (sink.*take)(checked(rows[i], i));
  };
  if (file.has(Table<PassCollectiveRow>::name))  // Older files have no such table.
    for_each_small_row(&Sink::pass_collective);
  file.for_each_row<PassRow>([&](const PassRow& row, hsize_t i) { sink.pass(checked(row, i)); });
  file.for_each_row<TransferRow>(
      [&](const TransferRow& row, hsize_t i) { sink.transfer(checked(row, i)); });
  file.for_each_row<MemoryRow>(
      [&](const MemoryRow& row, hsize_t i) { sink.memory(checked(row, i)); });
  file.for_each_row<CollectiveRow>(
      [&](const CollectiveRow& row, hsize_t i) { sink.collective(checked(row, i)); });
  file.for_each_row<StepRow>([&](const StepRow& row, hsize_t i) { sink.step(checked(row, i)); });
  if (file.has(Table<WaitRow>::name))  // Older files have no such table.
    file.for_each_row<WaitRow>([&](const WaitRow& row, hsize_t i) { sink.wait(checked(row, i)); });
  if (file.has(Table<LinkRow>::name)) {  // Older files have none of these tables.
    for_each_small_row(&Sink::link);
    file.for_each_row<LinkUseRow>(
        [&](const LinkUseRow& row, hsize_t i) { sink.link_use(checked(row, i)); });
    file.for_each_row<PathRow>([&](const PathRow& row, hsize_t i) { sink.path(checked(row, i)); });
  }
  sink.finish();
}

std::uint64_t count_rows(const fs::path& path) {
  const QuietHdf5 quiet;
  const TraceFile file(path);
  std::uint64_t rows = 0;
  for (const char* table : {Table<PassRow>::name, Table<TransferRow>::name, Table<MemoryRow>::name,
                            Table<CollectiveRow>::name, Table<StepRow>::name, Table<WaitRow>::name,
                            Table<LinkUseRow>::name})
    if (file.has(table)) rows += file.count(table);
  return rows;
}

Trace read_trace(const fs::path& path) {
  TraceCollector collector;
  replay(path, collector);
  return std::move(collector.trace);
}

}  // namespace pipewright::trace
