#pragma once

#include <cstddef>
#include <span>

#include "sim/cli/requests/connection.hpp"

namespace pipewright::cli {

// A file in memory that this process fills and passes to another one.
class SharedBlock {
 public:
  explicit SharedBlock(std::size_t bytes);
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;
  ~SharedBlock();

  std::span<char> bytes() { return {start_, size_}; }
  int descriptor() const { return file_.descriptor(); }

 private:
  File file_;
  std::size_t size_;
  char* start_ = nullptr;
};

// Read-only view of such a file.
class MappedBlock {
 public:
  explicit MappedBlock(const File& file);
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;
  ~MappedBlock();

  std::span<const char> bytes() const { return {start_, size_}; }

 private:
  std::size_t size_ = 0;
  const char* start_ = nullptr;
};

}  // namespace pipewright::cli
