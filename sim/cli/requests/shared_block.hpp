#pragma once

#include <cstddef>
#include <span>

#include "sim/cli/requests/connection.hpp"

namespace pipewright::cli {

// Anonymous file in memory that this process fills and passes to another process.
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

// Read-only view of a file in memory that another process has filled.
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
