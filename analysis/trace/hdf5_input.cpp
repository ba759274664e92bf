#include "analysis/trace/hdf5_input.hpp"

#include <cstring>
#include <fstream>
#include <system_error>
#include <type_traits>

namespace fs = std::filesystem;

namespace pipewright::trace {

std::string trimmed(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

bool is_fixed_text(const Handle& type) {
  return H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
}

Hdf5Input::Hdf5Input(const fs::path& path, const char* what, std::uint32_t version)
    : name_(path.string()), what_(what), version_(version) {
  open(path);
  check_version();
}

void Hdf5Input::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("no such file");
  if (fs::is_directory(status)) fail("a folder: a pipewright {} was expected", what_);
  if (!std::ifstream(path)) fail("cannot read: {}", std::generic_category().message(errno));
  if (H5Fis_hdf5(path.c_str()) <= 0) fail("not an HDF5 file: a pipewright {} was expected", what_);
  file_ = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!file_.valid()) fail("cut short or damaged: {}", last_failure());
}

void Hdf5Input::check_version() const {
  const htri_t marked = H5Aexists(file_.get(), "format");
  if (marked < 0) fail("cut short or damaged: {}", last_failure());
  const std::string format = fmt::format("pipewright-{}", what_);
  if (marked == 0 || text("format") != format)
    fail("an HDF5 file, but not a pipewright {}: its attribute 'format' is not '{}'", what_,
         format);
  const auto version = number<std::uint32_t>("version");
  if (version > version_)
    fail("its {} format has version {}, newer than {}, the newest that this program reads", what_,
         version, version_);
  if (version < version_)
    fail("its {} format has version {}; this program reads version {}", what_, version, version_);
}

Handle Hdf5Input::attribute(const char* name) const {
  if (H5Aexists(file_.get(), name) == 0) fail("attribute '{}' is missing", name);
  Handle found(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
  if (!found.valid()) fail("attribute '{}' is damaged: {}", name, last_failure());
  const Handle space(H5Aget_space(found.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) fail("attribute '{}' is no scalar", name);
  return found;
}

template <class Value>
Value Hdf5Input::number(const char* name) const {
  const hid_t type = std::is_same_v<Value, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT32;
  Value value{};
  if (H5Aread(attribute(name).get(), type, &value) < 0) fail("attribute '{}' is no number", name);
  return value;
}
template std::uint32_t Hdf5Input::number(const char* name) const;
template double Hdf5Input::number(const char* name) const;

std::string Hdf5Input::text(const char* name) const {
  const Handle found = attribute(name);
  const Handle stored(H5Aget_type(found.get()), H5Tclose);
  if (!is_fixed_text(stored)) fail("attribute '{}' is no text of fixed length", name);
  std::string text(H5Tget_size(stored.get()), '\0');
  if (H5Aread(found.get(), stored.get(), text.data()) < 0)
    fail("attribute '{}' is damaged: {}", name, last_failure());
  return trimmed(text.data(), text.size());
}

Handle Hdf5Input::dataset(const char* name) const {
  if (H5Lexists(file_.get(), name, H5P_DEFAULT) == 0) fail("table '{}' is missing", name);
  Handle found(H5Dopen2(file_.get(), name, H5P_DEFAULT), H5Dclose);
  if (!found.valid()) fail("table '{}' is damaged: {}", name, last_failure());
  return found;
}

hsize_t Hdf5Input::rows(const Handle& dataset, const char* name) const {
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

Handle Hdf5Input::column(const Handle& type, const char* table, const char* name) const {
  if (H5Tget_class(type.get()) != H5T_COMPOUND) fail("table '{}' has no columns", table);
  const int index = H5Tget_member_index(type.get(), name);
  if (index < 0) fail("column '{}' of table '{}' is missing", name, table);
  return {H5Tget_member_type(type.get(), static_cast<unsigned>(index)), H5Tclose};
}

void Hdf5Input::check_columns(const Handle& dataset, const char* table,
                              std::span<const Column> columns) const {
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  for (const Column& wanted : columns)
    if (H5Tequal(column(type, table, wanted.name).get(), file_type(wanted.type).get()) <= 0)
      fail("column '{}' of table '{}' is not of its type in format version {}", wanted.name, table,
           version_);
}

void Hdf5Input::check_text_columns(const Handle& found, const char* table,
                                   std::span<const Column> columns) const {
  const Handle stored(H5Dget_type(found.get()), H5Tclose);
  for (const Column& wanted : columns) column(stored, table, wanted.name);
  for (const Column& wanted : columns) {
    const Handle type = column(stored, table, wanted.name);
    if (wanted.type == ColumnType::text ? !is_fixed_text(type)
                                        : H5Tequal(type.get(), file_type(wanted.type).get()) <= 0)
      fail("column '{}' of table '{}' is not of its type in format version {}", wanted.name, table,
           version_);
  }
}

TextRows Hdf5Input::text_rows(const Handle& found, const char* table,
                              std::span<const Column> columns, std::size_t count) const {
  const Handle stored(H5Dget_type(found.get()), H5Tclose);
  TextRows packed(columns, stored, count);
  if (count > 0 && H5Dread(found.get(), packed.type().get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                           packed.bytes().data()) < 0)
    fail("table '{}' is damaged: {}", table, last_failure());
  return packed;
}

}  // namespace pipewright::trace
