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

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw TraceError(fmt::format("{}: cannot write: {}", path.string(), why));
}

}  // namespace

PartialFile::PartialFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (!path_.has_filename()) fail(path_, "the name of a file is missing");
  if (fs::is_directory(path_, ignored)) fail(path_, "it is a folder");
  // The final rename would put a file in the place of a device such as /dev/null.
  if (fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored))
    fail(path_, "it is not a regular file");
  target_ = fs::is_symlink(path_, ignored) ? fs::weakly_canonical(path_, ignored) : path_;
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  if (!fs::exists(folder, ignored))
    fail(path_, fmt::format("there is no folder '{}'", folder.string()));

  // A number that is taken belongs to another writer of this process, to a process of the same id
  // on another machine, or to one that was killed.
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
    if (errno != EEXIST) fail(path_, std::generic_category().message(errno));
  }
}

PartialFile::~PartialFile() {
  std::error_code ignored;
  if (!committed_) fs::remove(temporary_, ignored);
}

void PartialFile::commit() {
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) fail(path_, error.message());
  committed_ = true;
}

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  PartialFile partial(path);
  std::ofstream stream(partial.temporary(), std::ios::binary);
  write(stream);
  stream.close();
  if (!stream) fail(path, std::generic_category().message(errno));
  partial.commit();
}

void write_file(const fs::path& path, const std::string& bytes) {
  write_file(path, [&](std::ostream& stream) {
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace pipewright::trace
