#pragma once

#include <span>
#include <string>
#include <utility>

#include <hdf5.h>

#include "analysis/trace/tables.hpp"

// What the writer and the reader share of the HDF5 C API. Included by .cpp files only.
namespace pipewright::trace {

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

}  // namespace pipewright::trace
