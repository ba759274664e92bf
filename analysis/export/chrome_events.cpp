#include "analysis/export/chrome_events.hpp"

#include <nlohmann/json.hpp>

namespace pipewright::analysis {
namespace {

struct Microseconds {
  std::int64_t nanoseconds;
};

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

void ChromeEvents::process(std::uint32_t process, std::string_view name, std::uint32_t place) {
  next();
  out_.print(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}},)", process,
             json_text(name));
  out_.print(
      "\n"
      R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
      process, place);
}

void ChromeEvents::thread(Track track, std::string_view name, std::uint32_t place) {
  next();
  out_.print(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}},)",
             track.process, track.thread, json_text(name));
  out_.print(
      "\n"
      R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index",)"
      R"("args":{{"sort_index":{}}}}})",
      track.process, track.thread, place);
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

}  // namespace pipewright::analysis
