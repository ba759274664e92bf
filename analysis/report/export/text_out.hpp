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

// Text on its way to a stream, which gets it in large pieces. Included by .cpp files only.
class TextOut {
 public:
  explicit TextOut(std::ostream& stream) : stream_(stream) {}

  // A format, or one that is made ready by FMT_COMPILE: that takes half the time.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= piece) flush();
  }
  template <class Format, class... Args>
    requires fmt::detail::is_compiled_string<Format>::value
  void print(const Format& format, const Args&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, args...);
    if (buffer_.size() >= piece) flush();
  }
  void write(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  void flush() {
    stream_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t piece = 1 << 16;
  std::ostream& stream_;
  fmt::memory_buffer buffer_;
};

// Brings lines into the order of their times; those of one time stay in the order in which they
// came. Beyond so many bytes they wait in temporary files without names, so that any number of
// lines takes the same memory.
class SortedLines {
 public:
  explicit SortedLines(std::size_t memory_bytes = 64U << 20U) : memory_bytes_(memory_bytes) {}

  void add(std::int64_t time, std::string_view line);
  void write_to(std::ostream& stream);  // all of them, and then there are none

 private:
  struct Line {
    std::int64_t time;
    std::size_t start;  // of its text
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
