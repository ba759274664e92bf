#include "analysis/trace/hdf5.hpp"

#include <string_view>

namespace pipewright::trace {
namespace {

Handle plain(hid_t predefined) { return {H5Tcopy(predefined), H5Tclose}; }

Handle native_type(ColumnType type) {
  switch (type) {
    case ColumnType::u32:
      return plain(H5T_NATIVE_UINT32);
    case ColumnType::u64:
      return plain(H5T_NATIVE_UINT64);
    case ColumnType::f64:
      return plain(H5T_NATIVE_DOUBLE);
    default:
      return file_type(type);
  }
}

// HDF5 tells what the system said only inside a sentence: "..., error message = 'No space ...',
// ...".
herr_t find_cause(unsigned, const H5E_error2_t* error, void* result) {
  constexpr std::string_view before = "error message = '";
  const std::string_view text = error->desc == nullptr ? "" : error->desc;
  auto& cause = *static_cast<std::string*>(result);
  const std::size_t start = text.find(before);
  if (start != std::string_view::npos) {
    const std::string_view rest = text.substr(start + before.size());
    cause = rest.substr(0, rest.find('\''));
    return 1;
  }
  if (cause.empty()) cause = text;
  return 0;
}

}  // namespace

QuietHdf5::QuietHdf5() {
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

std::string last_failure() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_cause, &cause);
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
      return plain(H5T_STD_U32LE);
    case ColumnType::u64:
      return plain(H5T_STD_U64LE);
    case ColumnType::f64:
      return plain(H5T_IEEE_F64LE);
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

}  // namespace pipewright::trace
