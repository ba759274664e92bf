#include "analysis/trace/text_rows.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace pipewright::trace {
namespace {

const std::string& text_at(const char* row, const Column& column) {
  return *reinterpret_cast<const std::string*>(row + column.offset);
}

}  // namespace

TextRows::TextRows(std::span<const Column> columns, const void* rows, std::size_t stride,
                   std::size_t count)
    : columns_(columns), count_(count) {
  const auto* const first = static_cast<const char*>(rows);
  std::vector<std::size_t> sizes(columns.size(), 1);  // HDF5 has no type of no size
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (std::size_t i = 0; i < count && columns[c].type == ColumnType::text; ++i)
      sizes[c] = std::max(sizes[c], text_at(first + i * stride, columns[c]).size());
  place(sizes);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const char* const row = first + i * stride;
      char* const at = bytes_.data() + i * row_bytes_ + places_[c].offset;
      if (columns[c].type == ColumnType::text) {
        const std::string& text = text_at(row, columns[c]);
        std::copy_n(text.data(), text.size(), at);
      } else {
        std::memcpy(at, row + columns[c].offset, places_[c].size);
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
  place(sizes);
}

void TextRows::place(const std::vector<std::size_t>& text_sizes) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool text = columns_[c].type == ColumnType::text;
    places_.push_back({row_bytes_, text ? text_sizes[c] : width(columns_[c].type)});
    row_bytes_ += places_.back().size;
  }
  type_ = {H5Tcreate(H5T_COMPOUND, row_bytes_), H5Tclose};
  for (std::size_t c = 0; c < columns_.size(); ++c)
    H5Tinsert(type_.get(), columns_[c].name, places_[c].offset,
              columns_[c].type == ColumnType::text ? text_type(places_[c].size).get()
                                                   : file_type(columns_[c].type).get());
  bytes_.assign(row_bytes_ * count_, '\0');
}

void TextRows::unpack(void* rows, std::size_t stride) const {
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const char* const at = bytes_.data() + i * row_bytes_ + places_[c].offset;
      char* const row = static_cast<char*>(rows) + i * stride;
      if (columns_[c].type == ColumnType::text)
        reinterpret_cast<std::string*>(row + columns_[c].offset)
            ->assign(at, strnlen(at, places_[c].size));
      else
        std::memcpy(row + columns_[c].offset, at, places_[c].size);
    }
}

}  // namespace pipewright::trace
