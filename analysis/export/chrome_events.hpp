#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "analysis/export/text_out.hpp"

namespace pipewright::analysis {

std::string json_text(std::string_view text);  // quoted; bytes that are no UTF-8 become U+FFFD

// A row of the viewer.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

// Events of the trace-event format, in the order of the calls. Times are nanoseconds, which the
// file has as microseconds; `args` is what stands between the braces of an event's arguments.
class ChromeEvents {
 public:
  explicit ChromeEvents(std::ostream& stream) : out_(stream) {}

  void open(std::string_view other_data);
  void process(std::uint32_t process, std::string_view name, std::uint32_t place);
  void thread(Track track, std::string_view name, std::uint32_t place);
  void slice(Track track, std::string_view name, std::string_view category, std::int64_t start,
             std::int64_t end, std::string_view args);
  // Both ends lie in slices that are written already.
  void arrow(std::uint64_t id, std::string_view category, Track from, std::int64_t from_time,
             Track to, std::int64_t to_time);
  void counter(std::uint32_t process, std::string_view quoted_name, std::int64_t time,
               std::string_view args);
  void close();

 private:
  void next();

  TextOut out_;
  bool first_ = true;
};

}  // namespace pipewright::analysis
