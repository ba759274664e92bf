#include "analysis/trace/partial_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "analysis/trace/error.hpp"

namespace fs = std::filesystem;

namespace pipewright::trace {
namespace {

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& reason) {
  throw TraceError(fmt::format("{}: cannot write: {}", path.string(), reason));
}

}  // namespace

PartialFile::PartialFile(fs::path path) : path_(std::move(path)) {
  std::error_code no_error;
  if (!path_.has_filename()) fail_to_write(path_, "the file name is missing");
  if (fs::is_directory(path_, no_error)) fail_to_write(path_, "it is a folder");
  // The final rename would replace a device such as /dev/null by a file.
  if (fs::exists(path_, no_error) && !fs::is_regular_file(path_, no_error))
    fail_to_write(path_, "it is not a regular file");
  target_ = fs::is_symlink(path_, no_error) ? fs::weakly_canonical(path_, no_error) : path_;
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  if (!fs::exists(folder, no_error))
    fail_to_write(path_, fmt::format("folder '{}' does not exist", folder.string()));

  // Tries numbers until a name is free. A name in use belongs to another writer of this process, to
  // a process with the same id on another machine, or to one that was killed.
  for (int number = 0;; ++number) {
    const std::string suffix = number == 0 ? "" : fmt::format("-{}", number);
    temporary_ =
        folder / fmt::format(".{}.{}{}.partial", target_.filename().string(), ::getpid(), suffix);
    const int descriptor =
        ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      ::close(descriptor);
      return;
    }
    if (errno != EEXIST) fail_to_write(path_, std::generic_category().message(errno));
  }
}

PartialFile::~PartialFile() {
  std::error_code no_error;
  if (!committed_) fs::remove(temporary_, no_error);
}

void PartialFile::commit() {
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) fail_to_write(path_, error.message());
  committed_ = true;
}

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  PartialFile partial(path);
  std::ofstream stream(partial.temporary(), std::ios::binary);
  write(stream);
  stream.close();
  if (!stream) fail_to_write(path, std::generic_category().message(errno));
  partial.commit();
}

void write_file(const fs::path& path, const std::string& bytes) {
  write_file(path, [&](std::ostream& stream) {
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace pipewright::trace
