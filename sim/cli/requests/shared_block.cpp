#include "sim/cli/requests/shared_block.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pipewright::cli {
namespace {

[[noreturn]] void fail_block(const char* action) {
  throw std::runtime_error(fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

File block_file(std::size_t bytes) {
  File file(memfd_create("pipewright", MFD_CLOEXEC));
  if (file.descriptor() < 0 || ftruncate(file.descriptor(), static_cast<off_t>(bytes)) != 0)
    fail_block("make a file in memory");
  return file;
}

}  // namespace

SharedBlock::SharedBlock(std::size_t bytes) : file_(block_file(bytes)), size_(bytes) {
  if (bytes == 0) return;
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), 0);
  if (start == MAP_FAILED) fail_block("map a file in memory");
  start_ = static_cast<char*>(start);
}

SharedBlock::~SharedBlock() {
  if (start_ != nullptr) munmap(start_, size_);
}

MappedBlock::MappedBlock(const File& file) {
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) fail_block("read the size of a file in memory");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const start = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (start == MAP_FAILED) fail_block("map a file in memory");
  start_ = static_cast<const char*>(start);
}

MappedBlock::~MappedBlock() {
  if (start_ != nullptr) munmap(const_cast<char*>(start_), size_);
}

}  // namespace pipewright::cli
