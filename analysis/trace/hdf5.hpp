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

// Parts of the HDF5 C API that the writer and the reader share. Only .cpp files include this
// header.

// Owns an HDF5 identifier and the function that closes it.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& rhs) noexcept { swap(rhs); }
  Handle& operator=(Handle&& rhs) noexcept {
    Handle(std::move(rhs)).swap(*this);
    return *this;
  }
  ~Handle() { close(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  // Closes the HDF5 object if it is open. Returns false if HDF5 fails.
  bool close() { return id_ < 0 || closer_(std::exchange(id_, -1)) >= 0; }

 private:
  void swap(Handle& rhs) {
    std::swap(id_, rhs.id_);
    std::swap(closer_, rhs.closer_);
  }
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

// Suppresses HDF5's own error messages during its lifetime. Before the first use, HDF5 is set not
// to clean up at the end of the process, where it would crash while closing what it could not
// write. Every file is closed by its owner.
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

// Returns the reason why the last call failed: the system's message ("No space left on device") if
// the system refused, otherwise HDF5's innermost message.
std::string last_failure();

Handle text_type(std::size_t size);  // UTF-8, padded with zero bytes.
Handle file_type(ColumnType type);   // Little-endian on every machine.
// Return HDF5 compound types of the columns: for rows in a file, and for rows in memory.
Handle disk_type(std::span<const Column> columns);
Handle memory_type(std::span<const Column> columns, std::size_t row_bytes);

// Rows of a table with text columns, packed as in a file: all texts of a column have the length of
// the longest one, padded with zero bytes.
class TextRows {
 public:
  // Constructor for writing: `count` rows in memory start at `rows`, `stride` bytes apart.
  TextRows(std::span<const Column> columns, const void* rows, std::size_t stride,
           std::size_t count);
  // Constructor for reading: the type of the stored rows determines the length of texts.
  TextRows(std::span<const Column> columns, const Handle& stored, std::size_t count);

  const Handle& type() const { return type_; }
  std::vector<char>& bytes() { return bytes_; }
  const std::vector<char>& bytes() const { return bytes_; }
  void unpack(void* rows, std::size_t stride) const;

 private:
  struct FieldPlace {
    std::size_t offset;  // Offset in a packed row.
    std::size_t size;
  };
  void set_layout(const std::vector<std::size_t>& text_sizes);

  std::span<const Column> columns_;
  std::vector<FieldPlace> layout_;
  std::size_t row_bytes_ = 0;
  std::size_t count_;
  Handle type_;
  std::vector<char> bytes_;
};

// Common part of all readers of HDF5 files. Everything in a file is checked, and errors name the
// file. An object must live within a QuietHdf5. Only .cpp files include this header.
class Hdf5Input {
 public:
  // `content` is the kind of file, for example "trace": its attribute `format` must be
  // "pipewright-trace".
  Hdf5Input(const std::filesystem::path& path, const char* content, std::uint32_t version);

  hid_t id() const { return file_.get(); }
  bool has(const char* table) const { return H5Lexists(file_.get(), table, H5P_DEFAULT) > 0; }
  bool has_attribute(const char* name) const { return H5Aexists(file_.get(), name) > 0; }
  template <class Value>
  Value number(const char* attribute_name) const;  // Value is std::uint32_t or double.
  std::string text(const char* attribute_name) const;

  Handle dataset(const char* name) const;
  // Returns the number of rows of a table, after checking that all of them were written.
  hsize_t rows(const Handle& dataset, const char* name) const;
  Handle column(const Handle& type, const char* table, const char* name) const;
  // Checks that columns have the documented types; others might lose digits or overflow.
  void check_columns(const Handle& dataset, const char* table,
                     std::span<const Column> columns) const;
  // Reads a whole table that has text columns.
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
  const char* content_;
  std::uint32_t version_;
  Handle file_;
};

// Returns a text without its padding of zero bytes.
std::string trimmed(const char* text, std::size_t size);
bool is_fixed_text(const Handle& type);

template <class Row>
std::vector<Row> Hdf5Input::small_table(const char* table, std::span<const Column> columns) const {
  const Handle opened = dataset(table);
  check_columns(opened, table, columns);
  std::vector<Row> result(rows(opened, table));
  text_rows(opened, table, columns, result.size()).unpack(result.data(), sizeof(Row));
  return result;
}

// Common part of all writers of HDF5 files. Only .cpp files include this header.

// Thrown while writing; write_guarded() converts it to a TraceError, which names the file.
struct WriteFailure {
  std::string reason;
};

void check(herr_t status);
Handle checked(hid_t id, Handle::Closer closer);
void close(Handle& handle);

// Files and datasets are created without time stamps, so that equal runs give equal files.
Handle create_file(const std::filesystem::path& path);
Handle chunk_properties(hsize_t rows);  // With compression.

// Returns the HDF5 type of a text. An empty text has one zero byte, since no type has size 0.
Handle text_type_of(const std::string& text);
void write_attribute(hid_t file, const char* name, const Handle& type, const void* value);
void write_text(hid_t file, const char* name, const std::string& text);
void write_number(hid_t file, const char* name, std::uint32_t value);
void write_number(hid_t file, const char* name, double value);

// Writes all rows of a dataset at once.
void write_dataset(hid_t file, const char* name, const Handle& type, hsize_t rows,
                   const void* data);

template <class Action>
void write_guarded(const std::filesystem::path& name, Action&& action) {
  const QuietHdf5 quiet;
  try {
    action();
  } catch (const WriteFailure& failure) {
    throw TraceError(fmt::format("{}: cannot write: {}", name.string(), failure.reason));
  }
}

}  // namespace pipewright::trace
