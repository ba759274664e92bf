#include "analysis/trace/hdf5.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace pipewright::trace {
namespace {

Handle copy_type(hid_t predefined) { return {H5Tcopy(predefined), H5Tclose}; }

Handle native_type(ColumnType type) {
  switch (type) {
    case ColumnType::u32:
      return copy_type(H5T_NATIVE_UINT32);
    case ColumnType::u64:
      return copy_type(H5T_NATIVE_UINT64);
    case ColumnType::f64:
      return copy_type(H5T_NATIVE_DOUBLE);
    default:
      return file_type(type);
  }
}

// HDF5 gives the system's message only inside a sentence: "..., error message = 'No space ...',
// ...".
herr_t find_failure_cause(unsigned, const H5E_error2_t* error, void* result) {
  constexpr std::string_view prefix = "error message = '";
  const std::string_view text = error->desc == nullptr ? "" : error->desc;
  auto& cause = *static_cast<std::string*>(result);
  const std::size_t start = text.find(prefix);
  if (start != std::string_view::npos) {
    const std::string_view rest = text.substr(start + prefix.size());
    cause = rest.substr(0, rest.find('\''));
    return 1;
  }
  if (cause.empty()) cause = text;
  return 0;
}

const std::string& text_at(const char* row, const Column& column) {
  return *reinterpret_cast<const std::string*>(row + column.offset);
}

}  // namespace

QuietHdf5::QuietHdf5() {
  [[maybe_unused]] static const herr_t is_called_once = H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

std::string last_failure() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_failure_cause, &cause);
  return cause.empty() ? "HDF5 gives no reason" : cause;
}

Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return type;
}

Handle file_type(ColumnType type) {
  switch (type) {
    case ColumnType::u32:
      return copy_type(H5T_STD_U32LE);
    case ColumnType::u64:
      return copy_type(H5T_STD_U64LE);
    case ColumnType::f64:
      return copy_type(H5T_IEEE_F64LE);
    default:
      break;
  }
  Handle names(H5Tenum_create(H5T_STD_U8LE), H5Tclose);
  unsigned char value = 0;
  for (const char* name : enum_names(type)) {
    H5Tenum_insert(names.get(), name, &value);
    ++value;
  }
  return names;
}

Handle disk_type(std::span<const Column> columns) {
  Handle row(H5Tcreate(H5T_COMPOUND, disk_row_bytes(columns)), H5Tclose);
  std::size_t offset = 0;
  for (const Column& column : columns) {
    H5Tinsert(row.get(), column.name, offset, file_type(column.type).get());
    offset += width(column.type);
  }
  return row;
}

Handle memory_type(std::span<const Column> columns, std::size_t row_bytes) {
  Handle row(H5Tcreate(H5T_COMPOUND, row_bytes), H5Tclose);
  for (const Column& column : columns)
    H5Tinsert(row.get(), column.name, column.offset, native_type(column.type).get());
  return row;
}

std::string trimmed(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

bool is_fixed_text(const Handle& type) {
  return H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
}

Hdf5Input::Hdf5Input(const std::filesystem::path& path, const char* content, std::uint32_t version)
    : name_(path.string()), content_(content), version_(version) {
  open(path);
  check_version();
}

void Hdf5Input::open(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail("no such file");
  if (std::filesystem::is_directory(status))
    fail("this is a folder; expected a pipewright {}", content_);
  if (!std::ifstream(path))
    fail("cannot read the file: {}", std::generic_category().message(errno));
  if (H5Fis_hdf5(path.c_str()) <= 0) fail("not an HDF5 file; expected a pipewright {}", content_);
  file_ = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!file_.valid()) fail("cut short or damaged: {}", last_failure());
}

void Hdf5Input::check_version() const {
  const htri_t has_format = H5Aexists(file_.get(), "format");
  if (has_format < 0) fail("cut short or damaged: {}", last_failure());
  const std::string format = fmt::format("pipewright-{}", content_);
  if (has_format == 0 || text("format") != format)
    fail("an HDF5 file, but not a pipewright {}: its attribute 'format' is not '{}'", content_,
         format);
  const auto version = number<std::uint32_t>("version");
  if (version > version_)
    fail("its {} format has version {}; this program reads versions up to {}", content_, version,
         version_);
  if (version < version_)
    fail("its {} format has version {}; this program reads version {}", content_, version,
         version_);
}

Handle Hdf5Input::attribute(const char* name) const {
  if (H5Aexists(file_.get(), name) == 0) fail("attribute '{}' is missing", name);
  Handle opened(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
  if (!opened.valid()) fail("attribute '{}' is damaged: {}", name, last_failure());
  const Handle space(H5Aget_space(opened.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) fail("attribute '{}' is not a scalar", name);
  return opened;
}

template <class Value>
Value Hdf5Input::number(const char* name) const {
  const hid_t type = std::is_same_v<Value, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT32;
  Value value{};
  if (H5Aread(attribute(name).get(), type, &value) < 0)
    fail("attribute '{}' is not a number", name);
  return value;
}
template std::uint32_t Hdf5Input::number(const char* name) const;
template double Hdf5Input::number(const char* name) const;

std::string Hdf5Input::text(const char* name) const {
  const Handle opened = attribute(name);
  const Handle stored(H5Aget_type(opened.get()), H5Tclose);
  if (!is_fixed_text(stored)) fail("attribute '{}' is not a text of fixed length", name);
  std::string text(H5Tget_size(stored.get()), '\0');
  if (H5Aread(opened.get(), stored.get(), text.data()) < 0)
    fail("attribute '{}' is damaged: {}", name, last_failure());
  return trimmed(text.data(), text.size());
}

Handle Hdf5Input::dataset(const char* name) const {
  if (H5Lexists(file_.get(), name, H5P_DEFAULT) == 0) fail("table '{}' is missing", name);
  Handle opened(H5Dopen2(file_.get(), name, H5P_DEFAULT), H5Dclose);
  if (!opened.valid()) fail("table '{}' is damaged: {}", name, last_failure());
  return opened;
}

hsize_t Hdf5Input::rows(const Handle& dataset, const char* name) const {
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const Handle properties(H5Dget_create_plist(dataset.get()), H5Pclose);
  hsize_t rows = 0;
  hsize_t chunk = 0;
  hsize_t chunks = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Pget_chunk(properties.get(), 1, &chunk) != 1)
    fail("table '{}' is not a one-dimensional dataset in chunks", name);
  H5Sget_simple_extent_dims(space.get(), &rows, nullptr);
  // HDF5 reads a missing chunk as zeros, so missing chunks must be detected here.
  if (H5Dget_num_chunks(dataset.get(), space.get(), &chunks) < 0)
    fail("table '{}' is damaged: {}", name, last_failure());
  if (chunks != rows / chunk + (rows % chunk == 0 ? 0 : 1))
    fail("table '{}' lacks some of its {} rows", name, rows);
  return rows;
}

Handle Hdf5Input::column(const Handle& type, const char* table, const char* name) const {
  if (H5Tget_class(type.get()) != H5T_COMPOUND) fail("table '{}' has no columns", table);
  const int index = H5Tget_member_index(type.get(), name);
  if (index < 0) fail("column '{}' of table '{}' is missing", name, table);
  return {H5Tget_member_type(type.get(), static_cast<unsigned>(index)), H5Tclose};
}

void Hdf5Input::check_columns(const Handle& dataset, const char* table,
                              std::span<const Column> columns) const {
  const Handle stored(H5Dget_type(dataset.get()), H5Tclose);
  for (const Column& expected : columns) {
    if (expected.is_new && H5Tget_member_index(stored.get(), expected.name) < 0) continue;
    const Handle type = column(stored, table, expected.name);
    if (expected.type == ColumnType::text
            ? !is_fixed_text(type)
            : H5Tequal(type.get(), file_type(expected.type).get()) <= 0)
      fail("column '{}' of table '{}' does not have the type of format version {}", expected.name,
           table, version_);
  }
}

TextRows Hdf5Input::text_rows(const Handle& dataset, const char* table,
                              std::span<const Column> columns, std::size_t count) const {
  const Handle stored(H5Dget_type(dataset.get()), H5Tclose);
  TextRows packed(columns, stored, count);
  if (count > 0 && H5Dread(dataset.get(), packed.type().get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                           packed.bytes().data()) < 0)
    fail("table '{}' is damaged: {}", table, last_failure());
  return packed;
}

void check(herr_t status) {
  if (status < 0) throw WriteFailure{last_failure()};
}

Handle checked(hid_t id, Handle::Closer closer) {
  if (id < 0) throw WriteFailure{last_failure()};
  return {id, closer};
}

void close(Handle& handle) {
  if (!handle.close()) throw WriteFailure{last_failure()};
}

Handle create_file(const std::filesystem::path& path) {
  const Handle creation = checked(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(creation.get(), false));  // The root group has no time stamps.
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // This version of the file layout has checksums for all metadata, and allows long attributes.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  return checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
}

Handle chunk_properties(hsize_t rows) {
  Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(properties.get(), false));
  check(H5Pset_chunk(properties.get(), 1, &rows));
  check(H5Pset_shuffle(properties.get()));
  check(H5Pset_deflate(properties.get(), 1));
  return properties;
}

Handle text_type_of(const std::string& text) {
  return text_type(std::max<std::size_t>(1, text.size()));
}

void write_attribute(hid_t file, const char* name, const Handle& type, const void* value) {
  const Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute =
      checked(H5Acreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(H5Awrite(attribute.get(), type.get(), value));
}

void write_text(hid_t file, const char* name, const std::string& text) {
  write_attribute(file, name, text_type_of(text), text.c_str());
}

void write_number(hid_t file, const char* name, std::uint32_t value) {
  write_attribute(file, name, file_type(ColumnType::u32), &value);
}

void write_number(hid_t file, const char* name, double value) {
  write_attribute(file, name, file_type(ColumnType::f64), &value);
}

void write_dataset(hid_t file, const char* name, const Handle& type, hsize_t rows,
                   const void* data) {
  const Handle space = checked(H5Screate_simple(1, &rows, nullptr), H5Sclose);
  const Handle properties = chunk_properties(std::max<hsize_t>(1, rows));
  Handle dataset = checked(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (rows > 0) check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  close(dataset);
}

TextRows::TextRows(std::span<const Column> columns, const void* rows, std::size_t stride,
                   std::size_t count)
    : columns_(columns), count_(count) {
  const auto* const first_row = static_cast<const char*>(rows);
  std::vector<std::size_t> sizes(columns.size(), 1);  // HDF5 has no type of size 0.
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < count && columns[c].type == ColumnType::text; ++i)
      sizes[c] = std::max(sizes[c], text_at(first_row + i * stride, columns[c]).size());
  set_layout(sizes);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const char* const row = first_row + i * stride;
      char* const target = bytes_.data() + i * row_bytes_ + layout_[c].offset;
      if (columns[c].type == ColumnType::text) {
        const std::string& text = text_at(row, columns[c]);
        std::copy_n(text.data(), text.size(), target);
      } else {
        std::memcpy(target, row + columns[c].offset, layout_[c].size);
      }
    }
}

TextRows::TextRows(std::span<const Column> columns, const Handle& stored, std::size_t count)
    : columns_(columns), count_(count) {
  std::vector<std::size_t> sizes(columns.size(), 1);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const int index = H5Tget_member_index(stored.get(), columns[c].name);
    if (index < 0 || columns[c].type != ColumnType::text) continue;
    const Handle member(H5Tget_member_type(stored.get(), static_cast<unsigned>(index)), H5Tclose);
    sizes[c] = H5Tget_size(member.get());
  }
  set_layout(sizes);
}

void TextRows::set_layout(const std::vector<std::size_t>& text_sizes) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool is_text = columns_[c].type == ColumnType::text;
    layout_.push_back({row_bytes_, is_text ? text_sizes[c] : width(columns_[c].type)});
    row_bytes_ += layout_.back().size;
  }
  type_ = {H5Tcreate(H5T_COMPOUND, row_bytes_), H5Tclose};
  for (std::size_t c = 0; c < columns_.size(); ++c)
    H5Tinsert(type_.get(), columns_[c].name, layout_[c].offset,
              columns_[c].type == ColumnType::text ? text_type(layout_[c].size).get()
                                                   : file_type(columns_[c].type).get());
  bytes_.assign(row_bytes_ * count_, '\0');
}

void TextRows::unpack(void* rows, std::size_t stride) const {
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const char* const source = bytes_.data() + i * row_bytes_ + layout_[c].offset;
      char* const row = static_cast<char*>(rows) + i * stride;
      if (columns_[c].type == ColumnType::text)
        reinterpret_cast<std::string*>(row + columns_[c].offset)
            ->assign(source, strnlen(source, layout_[c].size));
      else
        std::memcpy(row + columns_[c].offset, source, layout_[c].size);
    }
}

}  // namespace pipewright::trace
