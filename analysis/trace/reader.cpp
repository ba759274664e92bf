#include "analysis/trace/reader.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "analysis/trace/collector.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/row_checks.hpp"
#include "analysis/trace/text_rows.hpp"

namespace fs = std::filesystem;

namespace pipewright::trace {
namespace {

// Strings are padded with zero bytes.
std::string trimmed(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

bool is_fixed_text(const Handle& type) {
  return H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
}

class TraceFile {
 public:
  explicit TraceFile(const fs::path& path) : name_(path.string()) {
    open(path);
    check_version();
  }

  RunInfo run() const;
  std::vector<DeviceRow> devices(std::uint32_t expected) const;
  bool has(const char* table) const { return H5Lexists(file_.get(), table, H5P_DEFAULT) > 0; }
  // A whole table with texts.
  template <class Row>
  std::vector<Row> small_table() const;

  std::uint64_t count(const char* table) const { return rows(dataset(table), table); }
  // Calls visit(row, index) for each row of a table.
  template <class Row, class Visit>
  void each(Visit&& visit) const;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw TraceError(name_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void open(const fs::path& path);
  void check_version() const;
  Handle attribute(const char* name) const;
  template <class Value>
  Value number(const char* name, hid_t type) const;
  std::string text(const char* name) const;
  std::string cluster() const;
  Handle dataset(const char* name) const;
  hsize_t rows(const Handle& dataset, const char* name) const;
  Handle column(const Handle& type, const char* table, const char* name) const;
  void check_columns(const Handle& dataset, const char* table,
                     std::span<const Column> columns) const;

  std::string name_;
  Handle file_;
};

void TraceFile::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("no such file");
  if (fs::is_directory(status)) fail("a folder: a pipewright trace was expected");
  if (!std::ifstream(path)) fail("cannot read: {}", std::generic_category().message(errno));
  if (H5Fis_hdf5(path.c_str()) <= 0) fail("not an HDF5 file: a pipewright trace was expected");
  file_ = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!file_.valid()) fail("cut short or damaged: {}", last_failure());
}

void TraceFile::check_version() const {
  const htri_t marked = H5Aexists(file_.get(), "format");
  if (marked < 0) fail("cut short or damaged: {}", last_failure());
  if (marked == 0 || text("format") != format_name)
    fail("an HDF5 file, but not a pipewright trace: its attribute 'format' is not '{}'",
         format_name);
  const auto version = number<std::uint32_t>("version", H5T_NATIVE_UINT32);
  if (version > format_version)
    fail("its trace format has version {}, newer than {}, the newest that this program reads",
         version, format_version);
  if (version < format_version)
    fail("its trace format has version {}; this program reads version {}", version, format_version);
}

Handle TraceFile::attribute(const char* name) const {
  if (H5Aexists(file_.get(), name) == 0) fail("attribute '{}' is missing", name);
  Handle found(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
  if (!found.valid()) fail("attribute '{}' is damaged: {}", name, last_failure());
  const Handle space(H5Aget_space(found.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) fail("attribute '{}' is no scalar", name);
  return found;
}

template <class Value>
Value TraceFile::number(const char* name, hid_t type) const {
  Value value{};
  if (H5Aread(attribute(name).get(), type, &value) < 0) fail("attribute '{}' is no number", name);
  return value;
}

std::string TraceFile::text(const char* name) const {
  const Handle found = attribute(name);
  const Handle stored(H5Aget_type(found.get()), H5Tclose);
  if (!is_fixed_text(stored)) fail("attribute '{}' is no text of fixed length", name);
  std::string text(H5Tget_size(stored.get()), '\0');
  if (H5Aread(found.get(), stored.get(), text.data()) < 0)
    fail("attribute '{}' is damaged: {}", name, last_failure());
  return trimmed(text.data(), text.size());
}

Handle TraceFile::dataset(const char* name) const {
  if (H5Lexists(file_.get(), name, H5P_DEFAULT) == 0) fail("table '{}' is missing", name);
  Handle found(H5Dopen2(file_.get(), name, H5P_DEFAULT), H5Dclose);
  if (!found.valid()) fail("table '{}' is damaged: {}", name, last_failure());
  return found;
}

// The number of rows of a table, all of which were written.
hsize_t TraceFile::rows(const Handle& dataset, const char* name) const {
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const Handle properties(H5Dget_create_plist(dataset.get()), H5Pclose);
  hsize_t rows = 0;
  hsize_t chunk = 0;
  hsize_t chunks = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Pget_chunk(properties.get(), 1, &chunk) != 1)
    fail("table '{}' is not a list of rows in chunks", name);
  H5Sget_simple_extent_dims(space.get(), &rows, nullptr);
  // HDF5 gives zeros for a chunk that is not there.
  if (H5Dget_num_chunks(dataset.get(), space.get(), &chunks) < 0)
    fail("table '{}' is damaged: {}", name, last_failure());
  if (chunks != rows / chunk + (rows % chunk == 0 ? 0 : 1))
    fail("table '{}' misses some of its {} rows", name, rows);
  return rows;
}

Handle TraceFile::column(const Handle& type, const char* table, const char* name) const {
  if (H5Tget_class(type.get()) != H5T_COMPOUND) fail("table '{}' has no columns", table);
  const int index = H5Tget_member_index(type.get(), name);
  if (index < 0) fail("column '{}' of table '{}' is missing", name, table);
  return {H5Tget_member_type(type.get(), static_cast<unsigned>(index)), H5Tclose};
}

// Other types than the documented ones might lose digits or wrap around on the way in.
void TraceFile::check_columns(const Handle& dataset, const char* table,
                              std::span<const Column> columns) const {
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  for (const Column& wanted : columns)
    if (H5Tequal(column(type, table, wanted.name).get(), file_type(wanted.type).get()) <= 0)
      fail("column '{}' of table '{}' is not of its type in format version {}", wanted.name, table,
           format_version);
}

RunInfo TraceFile::run() const {
  RunInfo run;
  for (const auto& field : text_fields) run.*field.member = text(field.name);
  for (const auto& field : count_fields)
    run.*field.member = number<std::uint32_t>(field.name, H5T_NATIVE_UINT32);
  for (const auto& field : real_fields)
    run.*field.member = number<double>(field.name, H5T_NATIVE_DOUBLE);
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

template <class Row>
std::vector<Row> TraceFile::small_table() const {
  const char* const table = Table<Row>::name;
  const Handle found = dataset(table);
  const Handle stored(H5Dget_type(found.get()), H5Tclose);
  for (const Column& wanted : Table<Row>::columns) column(stored, table, wanted.name);
  for (const Column& wanted : Table<Row>::columns) {
    const Handle type = column(stored, table, wanted.name);
    if (wanted.type == ColumnType::text ? !is_fixed_text(type)
                                        : H5Tequal(type.get(), file_type(wanted.type).get()) <= 0)
      fail("column '{}' of table '{}' is not of its type in format version {}", wanted.name, table,
           format_version);
  }
  std::vector<Row> result(rows(found, table));
  TextRows packed(Table<Row>::columns, stored, result.size());
  if (!result.empty() && H5Dread(found.get(), packed.type().get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                 packed.bytes().data()) < 0)
    fail("table '{}' is damaged: {}", table, last_failure());
  packed.unpack(result.data(), sizeof(Row));
  return result;
}

std::vector<DeviceRow> TraceFile::devices(std::uint32_t expected) const {
  std::vector<DeviceRow> devices = small_table<DeviceRow>();
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
    const std::vector<LinkRow> links = file.small_table<LinkRow>();
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
