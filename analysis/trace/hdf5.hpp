#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::trace {

// What the writer and the reader share of the HDF5 C API. Included by .cpp files only.

// Owns an HDF5 identifier and the function that closes it.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& other) noexcept { swap(other); }
  Handle& operator=(Handle&& other) noexcept {
    Handle(std::move(other)).swap(*this);
    return *this;
  }
  ~Handle() { close(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  bool close() { return id_ < 0 || closer_(std::exchange(id_, -1)) >= 0; }  // whether it went well

 private:
  void swap(Handle& other) {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
  }
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

// While it lives HDF5 prints no errors of its own. Before its first use HDF5 is told to do nothing
// at the end of the process, where it would try once more, and crash, to close what it could not
// write; here every file is closed by its owner.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// Why the last call failed: the system's words ("No space left on device") where it was the system
// that refused, and HDF5's innermost ones otherwise.
std::string last_failure();

Handle text_type(std::size_t size);  // UTF-8, padded with zero bytes
Handle file_type(ColumnType type);   // little endian, whatever the machine
// A compound of the columns as they lie on disk, or as they lie in a row in memory.
Handle disk_type(std::span<const Column> columns);
Handle memory_type(std::span<const Column> columns, std::size_t row_bytes);

// Rows that have texts as they lie in a file: those of a column are as long as its longest, padded
// with zero bytes.
class TextRows {
 public:
  // For writing: `rows` points at `count` rows in memory, `stride` bytes apart.
  TextRows(std::span<const Column> columns, const void* rows, std::size_t stride,
           std::size_t count);
  // For reading: texts are as long as the type of the stored rows says.
  TextRows(std::span<const Column> columns, const Handle& stored, std::size_t count);

  const Handle& type() const { return type_; }
  std::vector<char>& bytes() { return bytes_; }
  const std::vector<char>& bytes() const { return bytes_; }
  void unpack(void* rows, std::size_t stride) const;

 private:
  struct Place {
    std::size_t offset;  // in a packed row
    std::size_t size;
  };
  void place(const std::vector<std::size_t>& text_sizes);

  std::span<const Column> columns_;
  std::vector<Place> places_;
  std::size_t row_bytes_ = 0;
  std::size_t count_;
  Handle type_;
  std::vector<char> bytes_;
};

// What all readers of HDF5 files share: nothing in a file is taken on trust, and what is wrong is
// told with the name of the file. Lives within a QuietHdf5. Included by .cpp files only.
class Hdf5Input {
 public:
  // `what` the file is to be, "trace": its attribute `format` is then "pipewright-trace".
  Hdf5Input(const std::filesystem::path& path, const char* what, std::uint32_t version);

  hid_t id() const { return file_.get(); }
  bool has(const char* table) const { return H5Lexists(file_.get(), table, H5P_DEFAULT) > 0; }
  bool has_attribute(const char* name) const { return H5Aexists(file_.get(), name) > 0; }
  template <class Value>
  Value number(const char* attribute_name) const;  // std::uint32_t or double
  std::string text(const char* attribute_name) const;

  Handle dataset(const char* name) const;
  // The number of rows of a table, all of which were written.
  hsize_t rows(const Handle& dataset, const char* name) const;
  Handle column(const Handle& type, const char* table, const char* name) const;
  // Other types than the documented ones might lose digits or wrap around on the way in.
  void check_columns(const Handle& dataset, const char* table,
                     std::span<const Column> columns) const;
  // A whole table with texts.
  template <class Row>
  std::vector<Row> small_table(const char* table, std::span<const Column> columns) const;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw TraceError(name_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void open(const std::filesystem::path& path);
  void check_version() const;
  Handle attribute(const char* name) const;
  TextRows text_rows(const Handle& dataset, const char* table, std::span<const Column> columns,
                     std::size_t count) const;

  std::string name_;
  const char* what_;
  std::uint32_t version_;
  Handle file_;
};

// Strings are padded with zero bytes.
std::string trimmed(const char* text, std::size_t size);
bool is_fixed_text(const Handle& type);

template <class Row>
std::vector<Row> Hdf5Input::small_table(const char* table, std::span<const Column> columns) const {
  const Handle found = dataset(table);
  check_columns(found, table, columns);
  std::vector<Row> result(rows(found, table));
  text_rows(found, table, columns, result.size()).unpack(result.data(), sizeof(Row));
  return result;
}

// What all writers of HDF5 files share. Included by .cpp files only.

// Turned into a TraceError, which names the file, by write_guarded().
struct WriteFailure {
  std::string why;
};

void check(herr_t status);
Handle checked(hid_t id, Handle::Closer closer);
void close(Handle& handle);

// A file, properties of a dataset: without time stamps, which would make two equal runs differ.
Handle create_file(const std::filesystem::path& path);
Handle chunked(hsize_t rows);  // compressed

// An empty text is one zero byte, for HDF5 has no type of no size.
Handle text_type_of(const std::string& text);
void write_attribute(hid_t file, const char* name, const Handle& type, const void* value);
void write_text(hid_t file, const char* name, const std::string& text);
void write_number(hid_t file, const char* name, std::uint32_t value);
void write_number(hid_t file, const char* name, double value);

// A whole dataset of one piece.
void write_dataset(hid_t file, const char* name, const Handle& type, hsize_t rows,
                   const void* data);

template <class Action>
void write_guarded(const std::filesystem::path& name, Action&& action) {
  const QuietHdf5 quiet;
  try {
    action();
  } catch (const WriteFailure& failure) {
    throw TraceError(fmt::format("{}: cannot write: {}", name.string(), failure.why));
  }
}

}  // namespace pipewright::trace
