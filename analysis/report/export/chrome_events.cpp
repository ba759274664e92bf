#include "analysis/report/export/chrome_events.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/report/export/spans.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

struct Microseconds {
  std::int64_t nanoseconds;
};

constexpr std::size_t max_links = 16;

template <class Values>
std::string event_args(trace::ColumnType type, const char* unit, const Values& values,
                       const std::array<bool, std::tuple_size_v<Values>>& has_value) {
  std::string args;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (has_value[i])
      fmt::format_to(std::back_inserter(args), FMT_COMPILE("{}\"{}_{}\":{}"),
                     args.empty() ? "" : ",", trace::enum_names(type)[i], unit, values[i]);
  return args;
}

}  // namespace

}  // namespace pipewright::analysis

template <>
struct fmt::formatter<pipewright::analysis::Microseconds> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(pipewright::analysis::Microseconds time, Context& context) const {
    return fmt::format_to(context.out(), FMT_COMPILE("{}.{:03}"), time.nanoseconds / 1000,
                          time.nanoseconds % 1000);
  }
};

namespace pipewright::analysis {

std::string json_text(std::string_view text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void ChromeEvents::open(std::string_view other_data) {
  out_.print("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{{}}},\n\"traceEvents\":[", other_data);
}

void ChromeEvents::close() {
  out_.write("\n]}\n");
  out_.flush();
}

void ChromeEvents::next() {
  out_.write(first_ ? "\n" : ",\n");
  first_ = false;
}

void ChromeEvents::process(std::uint32_t process, std::string_view name, std::uint32_t sort_index) {
  next();
  out_.print(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)", process,
             json_text(name));
  out_.print(
      "\n"
      R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
      process, sort_index);
}

void ChromeEvents::thread(Track track, std::string_view name, std::uint32_t sort_index) {
  next();
  out_.print(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}},)",
             track.process, track.thread, json_text(name));
  out_.print(
      "\n"
      R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index",)"
      R"("args":{{"sort_index":{}}}}})",
      track.process, track.thread, sort_index);
}

void ChromeEvents::slice(Track track, std::string_view name, std::string_view category,
                         std::int64_t start, std::int64_t end, std::string_view args) {
  next();
  out_.print(
      FMT_COMPILE(
          R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"{}","args":{{{}}}}})"),
      track.process, track.thread, Microseconds{start}, Microseconds{end - start}, name, category,
      args);
}

void ChromeEvents::arrow(std::uint64_t id, std::string_view category, Track from,
                         std::int64_t from_time, Track to, std::int64_t to_time) {
  next();
  out_.print(
      FMT_COMPILE(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"id":{},"name":"{}","cat":"{}"}},)"),
      from.process, from.thread, Microseconds{from_time}, id, category, category);
  out_.print(
      FMT_COMPILE(
          "\n"
          R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"id":{},"name":"{}","cat":"{}"}})"),
      to.process, to.thread, Microseconds{to_time}, id, category, category);
}

void ChromeEvents::counter(std::uint32_t process, std::string_view quoted_name, std::int64_t time,
                           std::string_view args) {
  next();
  out_.print(FMT_COMPILE(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{{}}}}})"), process,
             Microseconds{time}, quoted_name, args);
}

void MemoryCounters::add(ChromeEvents& events, const trace::MemoryRow& row) {
  Device& device = devices_.at(row.device);
  const std::int64_t time = nanoseconds(row.time);
  if (device.pending && time != device.time) write(events, row.device + 1, device);
  device.time = time;
  device.pending = true;
  const auto category = static_cast<std::size_t>(row.category);
  device.has_value.at(category) = true;
  device.bytes[category] = row.bytes;
}

void MemoryCounters::finish(ChromeEvents& events) {
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].pending) write(events, static_cast<std::uint32_t>(i + 1), devices_[i]);
}

void MemoryCounters::write(ChromeEvents& events, std::uint32_t process, Device& device) {
  events.counter(
      process, "\"memory\"", device.time,
      event_args(trace::ColumnType::memory_category, "bytes", device.bytes, device.has_value));
  device.pending = false;
}

void LinkCounters::add(const trace::LinkRow& row) {
  if (links_.size() < max_links) links_.push_back({json_text(row.name), {}, {}});
}

void LinkCounters::add(const trace::LinkUseRow& row) {
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = nanoseconds(row.end);
  if (row.link >= links_.size() || start >= end) return;
  Link& link = links_[row.link];
  const auto traffic = static_cast<std::size_t>(row.traffic);
  const double rate = static_cast<double>(row.bytes) / (row.end - row.start);
  link.has_value.at(traffic) = true;
  link.changes[start][traffic] += rate;
  link.changes[end][traffic] -= rate;
}

void LinkCounters::finish(ChromeEvents& events, std::uint32_t process) const {
  bool has_process = false;
  for (const Link& link : links_) {
    Rates rates{};
    for (const auto& [time, change] : link.changes) {
      if (!has_process) events.process(process, "links", process);
      has_process = true;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        const double previous = rates[i];
        rates[i] += change[i];
        // Adding and subtracting rates leaves a tiny rounding error where the rate should be 0.
        if (rates[i] < 1e-9 * previous) rates[i] = 0;
      }
      events.counter(
          process, link.quoted_name, time,
          event_args(trace::ColumnType::traffic_class, "bytes_per_s", rates, link.has_value));
    }
  }
}

}  // namespace pipewright::analysis
