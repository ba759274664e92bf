#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace pipewright::analysis {

// Buffers text for a stream, which gets it in large pieces. Only .cpp files include this header.
class TextOut {
 public:
  explicit TextOut(std::ostream& stream) : stream_(stream) {}

  // Appends formatted text. A format compiled by FMT_COMPILE takes half the time of a plain string.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= piece_bytes) flush();
  }
  template <class Format, class... Args>
    requires fmt::detail::is_compiled_string<Format>::value
  void print(const Format& format, const Args&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, args...);
    if (buffer_.size() >= piece_bytes) flush();
  }
  void write(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  void flush() {
    stream_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t piece_bytes = 1 << 16;
  std::ostream& stream_;
  fmt::memory_buffer buffer_;
};

// Sorts lines by time; lines with equal times keep their order. Lines beyond `memory_bytes` are
// stored in unnamed temporary files, so that memory does not grow with the number of lines.
class SortedLines {
 public:
  explicit SortedLines(std::size_t memory_bytes = 64U << 20U) : memory_bytes_(memory_bytes) {}

  void add(std::int64_t time, std::string_view line);
  void write_to(std::ostream& stream);  // Writes all lines and removes them.

 private:
  struct Line {
    std::int64_t time;
    std::size_t start;  // Start of the line in `text_`.
    std::size_t size;
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  class Run;

  void sort();
  void spill();

  std::size_t memory_bytes_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<File> files_;
};

}  // namespace pipewright::analysis
