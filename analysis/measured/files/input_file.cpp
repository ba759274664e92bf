#include "analysis/measured/files/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_token_bytes = 64U << 20U;  // In bytes.

gzFile as_gzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

std::vector<fs::path> rank_files(const fs::path& name) {
  constexpr std::string_view placeholder = "{rank}";
  const std::string pattern = name.filename().string();
  const std::size_t start = pattern.find(placeholder);
  if (start == std::string::npos) return {name};
  const std::string prefix = pattern.substr(0, start);
  const std::string suffix = pattern.substr(start + placeholder.size());
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::vector<std::pair<std::uint64_t, fs::path>> ranked_files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.size() <= prefix.size() + suffix.size() || !file.starts_with(prefix) ||
        !file.ends_with(suffix))
      continue;
    const char* const digits = file.data() + prefix.size();
    const char* const digits_end = file.data() + file.size() - suffix.size();
    std::uint64_t rank = 0;
    const auto [stop, parse_error] = std::from_chars(digits, digits_end, rank);
    if (parse_error == std::errc{} && stop == digits_end)
      ranked_files.emplace_back(rank, name.parent_path() / file);
  }
  if (ranked_files.empty())
    throw trace::TraceError(fmt::format(
        "{}: no file has this name with a number in place of {{rank}}", printable(name.string())));
  std::ranges::sort(ranked_files);
  std::vector<fs::path> files;
  for (auto& [rank, file] : ranked_files) files.push_back(std::move(file));
  return files;
}

void TextSource::Closer::operator()(void* file) const { gzclose(as_gzip(file)); }

TextSource::TextSource(const std::filesystem::path& path, ReadProgress progress)
    : name_(printable(path.string())), progress_(std::move(progress)) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail("this is a folder, not a file");
  size_ = std::filesystem::file_size(path, error);
  if (error) size_ = 0;  // Pipes have no size.
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) fail(fmt::format("cannot open the file: {}", std::strerror(errno)));
  gzbuffer(as_gzip(file_.get()), 1U << 17U);
}

TextSource::~TextSource() = default;

void TextSource::fail(const std::string& message) const {
  throw trace::TraceError(fmt::format("{}: {}", name_, message));
}

std::uint64_t TextSource::bytes() const {
  return bytes_before_ + static_cast<std::uint64_t>(gptr() - eback());
}

std::uint64_t TextSource::line() const {
  return 1 + lines_before_ + static_cast<std::uint64_t>(std::count(eback(), gptr(), '\n'));
}

std::string TextSource::location() const {
  return fmt::format("{}: line {}, byte {}", name_, line(), bytes());
}

TextSource::int_type TextSource::underflow() {
  bytes_before_ += static_cast<std::uint64_t>(egptr() - eback());
  lines_before_ += static_cast<std::uint64_t>(std::count(eback(), egptr(), '\n'));
  setg(buffer_.data(), buffer_.data(), buffer_.data());
  if (bytes_before_ - marked_ > max_token_bytes)
    fail(fmt::format("a text or number of more than {} MiB starts at byte {}",
                     max_token_bytes >> 20U, marked_));
  const int count =
      gzread(as_gzip(file_.get()), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int status = Z_OK;
  const char* const message = gzerror(as_gzip(file_.get()), &status);
  if (count < 0)
    fail(fmt::format("cannot be read or unpacked after byte {}: {}", bytes_before_,
                     status == Z_ERRNO ? std::strerror(errno) : message));
  if (count == 0 && status == Z_BUF_ERROR)
    fail(fmt::format("the file is cut short: the packed data ends after byte {} of the text",
                     bytes_before_));
  if (progress_ && size_ > 0)
    progress_(static_cast<double>(gzoffset(as_gzip(file_.get()))) / static_cast<double>(size_));
  if (count == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(*gptr());
}

}  // namespace pipewright::analysis
