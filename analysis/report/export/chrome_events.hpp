#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/export/text_out.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Returns the text as quoted JSON. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

// Identifies a row of the viewer, in which events are drawn, by process and thread.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

// Writes events of the trace-event format in the order of the calls. Times are given in nanoseconds
// and written as microseconds. `args` is the text between the braces of an event's arguments.
class ChromeEvents {
 public:
  explicit ChromeEvents(std::ostream& stream) : out_(stream) {}

  void open(std::string_view other_data);
  void process(std::uint32_t process, std::string_view name, std::uint32_t sort_index);
  void thread(Track track, std::string_view name, std::uint32_t sort_index);
  void slice(Track track, std::string_view name, std::string_view category, std::int64_t start,
             std::int64_t end, std::string_view args);
  // Draws an arrow between two times on two tracks. At each end, a slice of the track must already
  // have been written.
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

// Counters of the memory of each device by component. All changes at one time form one event, which
// names every component that the device has had so far, because viewers that stack components take
// a missing one as 0.
class MemoryCounters {
 public:
  explicit MemoryCounters(std::size_t devices) : devices_(devices) {}
  void add(ChromeEvents& events, const trace::MemoryRow& row);
  void finish(ChromeEvents& events);

 private:
  struct Device {
    std::int64_t time = 0;
    bool pending = false;
    std::array<bool, trace::memory_categories> has_value{};
    std::array<std::uint64_t, trace::memory_categories> bytes{};
  };
  static void write(ChromeEvents& events, std::uint32_t process, Device& device);

  std::vector<Device> devices_;
};

// Counters of the bytes/s on the busiest links by traffic class. They are held in memory, since
// there are few.
class LinkCounters {
 public:
  void add(const trace::LinkRow& row);
  void add(const trace::LinkUseRow& row);
  // Writes the counters of all links as those of a separate process; writes nothing if there are
  // none.
  void finish(ChromeEvents& events, std::uint32_t process) const;

 private:
  using Rates = std::array<double, trace::traffic_classes>;
  struct Link {
    std::string quoted_name;
    std::map<std::int64_t, Rates> changes;  // Changes of the rates, by time.
    std::array<bool, trace::traffic_classes> has_value{};
  };
  std::vector<Link> links_;
};

}  // namespace pipewright::analysis
