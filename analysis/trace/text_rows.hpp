#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/trace/hdf5.hpp"

namespace pipewright::trace {

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

}  // namespace pipewright::trace
