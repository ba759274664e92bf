#pragma once

#include <cstddef>

namespace pipewright::python {

// Read-only memory map of an open file. The file can be closed afterwards; Python's own mmap would
// keep a file open for every result.
class Block {
 public:
  explicit Block(int file);  // throws std::runtime_error
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  const void* start() const { return start_; }
  std::size_t size() const { return size_; }

 private:
  void* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pipewright::python
