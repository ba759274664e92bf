#pragma once

#include <cstddef>

namespace pipewright::python {

// What an open file holds, mapped to read. The file may be closed after that: many results would
// else keep many files open, as those of Python's mmap do.
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
