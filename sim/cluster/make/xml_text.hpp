#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipewright::cluster {

// The lines of an XML file, indented.
class XmlText {
 public:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  template <class... Values>
  void open(fmt::format_string<Values...> format, Values&&... values) {
    line(format, std::forward<Values>(values)...);
    ++depth_;
  }
  void close(std::string_view tag) {
    --depth_;
    line("</{}>", tag);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t depth_ = 0;
};

// "24GBps", "1.7us", as SimGrid reads them and as exactly as they print.
inline std::string bandwidth_text(double bytes_per_second) {
  return fmt::format("{:.10g}GBps", bytes_per_second / 1e9);
}
inline std::string latency_text(double seconds) { return fmt::format("{:.10g}us", seconds * 1e6); }

}  // namespace pipewright::cluster
