#include "sim/cli/requests/captured.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pipewright::cli {
namespace {

void check_captured(bool succeeded) {
  if (!succeeded)
    throw std::runtime_error(
        fmt::format("cannot capture the output of a command: {}", std::strerror(errno)));
}

File capture_file() {
  File file(memfd_create("pipewright", MFD_CLOEXEC));
  check_captured(file.descriptor() >= 0);
  return file;
}

}  // namespace

Captured::Captured(int stream) : file_(capture_file()) {
  check_captured(dup2(file_.descriptor(), stream) >= 0);
}

std::string Captured::text() const {
  std::cout.flush();
  std::fflush(nullptr);
  const off_t end = lseek(file_.descriptor(), 0, SEEK_END);
  check_captured(end >= 0);
  std::string text(static_cast<std::size_t>(end), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count =
        pread(file_.descriptor(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    check_captured(count > 0);
    at += static_cast<std::size_t>(count);
  }
  return text;
}

void set_input(std::string_view text) {
  const File file = capture_file();
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(file.descriptor(), text.data() + at, text.size() - at);
    check_captured(count > 0);
    at += static_cast<std::size_t>(count);
  }
  check_captured(lseek(file.descriptor(), 0, SEEK_SET) == 0);
  check_captured(dup2(file.descriptor(), STDIN_FILENO) >= 0);
}

}  // namespace pipewright::cli
