#include "analysis/trace/partial_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "analysis/trace/error.hpp"

namespace fs = std::filesystem;

namespace pipewright::trace {
namespace {

constexpr std::string_view extension = ".partial";

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& reason) {
  throw TraceError(fmt::format("{}: cannot write: {}", path.string(), reason));
}

// Returns a name of the machine, or of the container in it, within which process ids are unique.
// Several machines may share a folder.
const std::string& process_space() {
  static const std::string name = [] {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::error_code no_error;
    const std::string space = fs::read_symlink("/proc/self/ns/pid", no_error).string();
    std::uint32_t hash = 2166136261;  // FNV-1a
    for (const char c : host.data() + space)
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return fmt::format("{:08x}", hash);
  }();
  return name;
}

// Returns the id of the process of this machine that made a temporary file, from the name of the
// file; nothing for other files.
std::optional<pid_t> writer_of(std::string_view file) {
  if (!file.starts_with('.') || !file.ends_with(extension)) return std::nullopt;
  file.remove_suffix(extension.size());
  const std::string mark = fmt::format(".{}-", process_space());
  const std::size_t start = file.rfind(mark);
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view digits = file.substr(start + mark.size());
  pid_t id = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  const bool ends = stop == digits.data() + digits.size() || *stop == '-';
  return error == std::errc{} && ends && id > 0 ? std::optional(id) : std::nullopt;
}

// Removes the temporary files of killed processes.
void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto writer = writer_of(entry->path().filename().string());
    std::error_code no_error;
    if (writer && ::kill(*writer, 0) != 0 && errno == ESRCH) fs::remove(entry->path(), no_error);
  }
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

  remove_abandoned(folder);
  // Tries numbers until a name is free. A name in use belongs to another writer of this process.
  for (int number = 0;; ++number) {
    const std::string suffix = number == 0 ? "" : fmt::format("-{}", number);
    temporary_ = folder / fmt::format(".{}.{}-{}{}{}", target_.filename().string(), process_space(),
                                      ::getpid(), suffix, extension);
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
