#include "sim/process/line_journal.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/process/channel.hpp"

namespace pipewright::process {

LineJournal::LineJournal(std::filesystem::path path, Words words, const Take& take)
    : path_(std::move(path)), words_(std::move(words)) {
  try {
    open_locked();
    read(take);
    if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail(std::strerror(errno));
  } catch (...) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

LineJournal::~LineJournal() { close(descriptor_); }

void LineJournal::fail(const std::string& why) const {
  words_.fail(fmt::format("{}: {}", path_.string(), why));
}

// Opens and locks the file. A process that held the lock before may have removed it; then a new
// file is opened.
void LineJournal::open_locked() {
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(fmt::format("cannot write: {}", std::strerror(errno)));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
      fail(errno == EWOULDBLOCK ? words_.busy : std::strerror(errno));
    struct stat opened {};
    struct stat named {};
    if (fstat(descriptor_, &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino && opened.st_dev == named.st_dev)
      return;
    close(std::exchange(descriptor_, -1));
  }
}

void LineJournal::read(const Take& take) {
  LineReader lines;
  std::size_t number = 0;
  for (bool more = true; more;) {
    more = lines.read_from(descriptor_);
    if (lines.is_too_long()) fail(words_.too_long);
    while (const std::optional<std::string> line = lines.next()) {
      take(++number, *line);
      size_ += line->size() + 1;
    }
  }
}

void LineJournal::append(const std::string& lines) {
  // A write that is cut short does not say why; the next write does.
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = write(descriptor_, rest.data(), rest.size());
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    const int error = count < 0 ? errno : ENOSPC;
    // An incomplete line that remains, because truncating fails, too, is dropped when the file is
    // read.
    static_cast<void>(ftruncate(descriptor_, static_cast<off_t>(size_)) == 0);
    fail(fmt::format(
        "cannot write: {}; the lines written so far are complete, and --resume continues from them",
        std::strerror(error)));
  }
  size_ += lines.size();
}

void LineJournal::remove() {
  if (unlink(path_.c_str()) != 0) fail(fmt::format("cannot remove: {}", std::strerror(errno)));
}

}  // namespace pipewright::process
