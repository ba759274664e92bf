#include "analysis/trace/reader.hpp"

#include <algorithm>

#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/row_checks.hpp"
#include "analysis/trace/sink.hpp"

namespace fs = std::filesystem;

namespace pipewright::trace {
namespace {

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
  for (const auto& field : text_fields) run.*field.member = text(field.name);
  for (const auto& field : count_fields) run.*field.member = number<std::uint32_t>(field.name);
  for (const auto& field : real_fields) run.*field.member = number<double>(field.name);
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
  file.each<PassRow>([&](const PassRow& row, hsize_t i) { sink.pass(checked(row, i)); });
  file.each<TransferRow>(
      [&](const TransferRow& row, hsize_t i) { sink.transfer(checked(row, i)); });
  file.each<MemoryRow>([&](const MemoryRow& row, hsize_t i) { sink.memory(checked(row, i)); });
  file.each<CollectiveRow>(
      [&](const CollectiveRow& row, hsize_t i) { sink.collective(checked(row, i)); });
  file.each<StepRow>([&](const StepRow& row, hsize_t i) { sink.step(checked(row, i)); });
  if (file.has(Table<LinkRow>::name)) {  // older files have none of these
    const std::vector<LinkRow> links =
        file.small_table<LinkRow>(Table<LinkRow>::name, Table<LinkRow>::columns);
    for (std::size_t i = 0; i < links.size(); ++i) sink.link(checked(links[i], i));
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
