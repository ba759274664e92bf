#include "python/core/block.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>

namespace pipewright::python {

Block::Block(int file) {
  const auto fail = [] {
    throw std::runtime_error(std::string("cannot map a run's results into memory: ") +
                             std::strerror(errno));
  };
  struct stat status {};
  if (fstat(file, &status) != 0) fail();
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const start = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) fail();
  start_ = start;
}

Block::~Block() {
  if (start_ != nullptr) munmap(start_, size_);
}

}  // namespace pipewright::python
