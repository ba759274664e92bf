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

constexpr std::uint64_t longest_token = 64U << 20U;  // bytes

gzFile as_gzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

std::vector<fs::path> rank_files(const fs::path& name) {
  constexpr std::string_view place = "{rank}";
  const std::string pattern = name.filename().string();
  const std::size_t at = pattern.find(place);
  if (at == std::string::npos) return {name};
  const std::string before = pattern.substr(0, at);
  const std::string behind = pattern.substr(at + place.size());
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::vector<std::pair<std::uint64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.size() <= before.size() + behind.size() || !file.starts_with(before) ||
        !file.ends_with(behind))
      continue;
    const char* const from = file.data() + before.size();
    const char* const until = file.data() + file.size() - behind.size();
    std::uint64_t rank = 0;
    const auto [stop, wrong] = std::from_chars(from, until, rank);
    if (wrong == std::errc{} && stop == until) found.emplace_back(rank, name.parent_path() / file);
  }
  if (found.empty())
    throw trace::TraceError(fmt::format("{}: no file is called so, with a number for {{rank}}",
                                        printable(name.string())));
  std::ranges::sort(found);
  std::vector<fs::path> files;
  for (auto& [rank, file] : found) files.push_back(std::move(file));
  return files;
}

void TextSource::Closer::operator()(void* file) const { gzclose(as_gzip(file)); }

TextSource::TextSource(const std::filesystem::path& path, ReadProgress progress)
    : name_(printable(path.string())), progress_(std::move(progress)) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail("is a folder, not a file");
  size_ = std::filesystem::file_size(path, error);
  if (error) size_ = 0;  // of a pipe
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) fail(fmt::format("cannot open it: {}", std::strerror(errno)));
  gzbuffer(as_gzip(file_.get()), 1U << 17U);
}

TextSource::~TextSource() = default;

void TextSource::fail(const std::string& what) const {
  throw trace::TraceError(fmt::format("{}: {}", name_, what));
}

std::uint64_t TextSource::bytes() const {
  return before_ + static_cast<std::uint64_t>(gptr() - eback());
}

std::uint64_t TextSource::line() const {
  return 1 + lines_before_ + static_cast<std::uint64_t>(std::count(eback(), gptr(), '\n'));
}

std::string TextSource::place() const {
  return fmt::format("{}: line {}, byte {}", name_, line(), bytes());
}

TextSource::int_type TextSource::underflow() {
  before_ += static_cast<std::uint64_t>(egptr() - eback());
  lines_before_ += static_cast<std::uint64_t>(std::count(eback(), egptr(), '\n'));
  setg(buffer_.data(), buffer_.data(), buffer_.data());
  if (before_ - marked_ > longest_token)
    fail(fmt::format("one text or number of more than {} MiB from byte {} on", longest_token >> 20U,
                     marked_));
  const int count =
      gzread(as_gzip(file_.get()), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int status = Z_OK;
  const char* const message = gzerror(as_gzip(file_.get()), &status);
  if (count < 0)
    fail(fmt::format("cannot be read or unpacked after byte {}: {}", before_,
                     status == Z_ERRNO ? std::strerror(errno) : message));
  if (count == 0 && status == Z_BUF_ERROR)
    fail(fmt::format("is cut short: the packed data ends after byte {} of the text", before_));
  if (progress_ && size_ > 0)
    progress_(static_cast<double>(gzoffset(as_gzip(file_.get()))) / static_cast<double>(size_));
  if (count == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(*gptr());
}

}  // namespace pipewright::analysis
