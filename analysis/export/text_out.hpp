#pragma once

#include <cstddef>
#include <iterator>
#include <ostream>
#include <string_view>
#include <utility>

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

}  // namespace pipewright::analysis
