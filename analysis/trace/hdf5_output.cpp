#include "analysis/trace/hdf5_output.hpp"

#include <algorithm>

namespace pipewright::trace {

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
  check(H5Pset_obj_track_times(creation.get(), false));  // of the root group
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // The layout in which all metadata has checksums, and no attribute is too long.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  return checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
}

Handle chunked(hsize_t rows) {
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
  const Handle properties = chunked(std::max<hsize_t>(1, rows));
  Handle dataset = checked(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (rows > 0) check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  close(dataset);
}

}  // namespace pipewright::trace
