#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/text_rows.hpp"

namespace pipewright::trace {

// What all readers of HDF5 files share: nothing in a file is taken on trust, and what is wrong is
// told with the name of the file. Lives within a QuietHdf5. Included by .cpp files only.
class Hdf5Input {
 public:
  // `what` the file is to be, "trace": its attribute `format` is then "pipewright-trace".
  Hdf5Input(const std::filesystem::path& path, const char* what, std::uint32_t version);

  hid_t id() const { return file_.get(); }
  bool has(const char* table) const { return H5Lexists(file_.get(), table, H5P_DEFAULT) > 0; }
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
  void check_text_columns(const Handle& dataset, const char* table,
                          std::span<const Column> columns) const;
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
  check_text_columns(found, table, columns);
  std::vector<Row> result(rows(found, table));
  text_rows(found, table, columns, result.size()).unpack(result.data(), sizeof(Row));
  return result;
}

}  // namespace pipewright::trace
