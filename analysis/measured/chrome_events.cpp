#include "analysis/measured/chrome_events.hpp"

#include <cmath>
#include <istream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using nlohmann::json;

constexpr int deepest = 256;          // containers in one another
constexpr std::size_t told_of = 160;  // characters of the parser's own message

// Takes what nlohmann's parser meets, one token at a time.
class EventReader {
 public:
  EventReader(TextSource& source, const VisitEvent& visit)
      : source_(source), visit_(visit), place_([&source] { return source.place(); }) {}

  bool null() { return take_nothing(); }
  bool boolean(bool) { return take_nothing(); }
  bool number_integer(json::number_integer_t value) {
    take_base(value);
    return number(static_cast<double>(value));
  }
  bool number_unsigned(json::number_unsigned_t value) {
    take_base(static_cast<std::int64_t>(value));
    return number(static_cast<double>(value));
  }
  bool number_float(json::number_float_t value, const std::string&) { return number(value); }
  bool binary(json::binary_t&) { return take_nothing(); }
  bool string(std::string& value);
  bool key(std::string& value);
  bool start_object(std::size_t);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array() { return leave(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error);

  const ChromeHeader& header() const { return header_; }
  bool saw_events() const { return event_depth_ > 0; }

 private:
  bool take_nothing() {
    source_.mark();
    return true;
  }
  bool enter();
  bool leave() {
    --depth_;
    return take_nothing();
  }
  bool number(double value);
  // More digits than a double has.
  void take_base(std::int64_t value) {
    if (depth_ == 1 && key_ == "baseTimeNanoseconds") header_.base_ns = value;
  }
  bool in_event() const { return in_events_ && depth_ == event_depth_; }
  bool in_arguments() const { return in_events_ && in_args_ && depth_ == event_depth_ + 1; }

  TextSource& source_;
  const VisitEvent& visit_;
  std::function<std::string()> place_;
  ChromeHeader header_;
  ChromeEvent event_;
  std::string key_;        // of the value that comes next
  std::string outer_key_;  // of the root's value
  int depth_ = 0;          // open containers
  int event_depth_ = 0;    // within an event
  bool in_events_ = false;
  bool in_args_ = false;  // of an event, or of what lies in them
};

bool EventReader::enter() {
  if (++depth_ > deepest)
    throw trace::TraceError(fmt::format(
        "{}: lists and objects stand more than {} deep in one another", place_(), deepest));
  return take_nothing();
}

bool EventReader::start_object(std::size_t) {
  enter();
  if (in_event()) event_ = {};
  if (in_events_ && depth_ == event_depth_ + 1) in_args_ = key_ == "args";
  return true;
}

bool EventReader::end_object() {
  if (in_event()) visit_(event_, place_);
  return leave();
}

bool EventReader::start_array(std::size_t) {
  enter();
  in_events_ = in_events_ || depth_ == 1 || (depth_ == 2 && key_ == "traceEvents");
  if (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents")) event_depth_ = depth_ + 1;
  return true;
}

bool EventReader::key(std::string& value) {
  if (depth_ == 1) {
    outer_key_ = value;
    in_events_ = false;
  }
  key_ = std::move(value);
  return take_nothing();
}

bool EventReader::string(std::string& value) {
  if (in_event()) {
    std::string* const place = key_ == "name"  ? &event_.name
                               : key_ == "cat" ? &event_.category
                               : key_ == "ph"  ? &event_.phase
                               : key_ == "pid" ? &event_.process
                               : key_ == "tid" ? &event_.thread
                                               : nullptr;
    if (place != nullptr) *place = std::move(value);
  } else if (depth_ == 2 && outer_key_ == "distributedInfo" && key_ == "backend") {
    header_.backend = std::move(value);
  }
  return take_nothing();
}

bool EventReader::number(double value) {
  if (in_event()) {
    if (key_ == "ts") event_.start = value;
    if (key_ == "dur") event_.duration = value;
    if (key_ == "pid") event_.process = fmt::format("{}", value);
    if (key_ == "tid") event_.thread = fmt::format("{}", value);
  } else if (in_arguments()) {
    std::optional<std::uint64_t>* const place = key_ == "correlation"  ? &event_.correlation
                                                : key_ == "stage"      ? &event_.stage
                                                : key_ == "microbatch" ? &event_.microbatch
                                                                       : nullptr;
    if (place != nullptr && value >= 0 && value < 1e18) *place = static_cast<std::uint64_t>(value);
  } else if (depth_ == 2 && outer_key_ == "otherData" && key_ == "microbatches") {
    if (value >= 1 && value < 1e9) header_.microbatches = static_cast<std::uint32_t>(value);
  } else if (depth_ == 2 && outer_key_ == "distributedInfo" && key_ == "rank") {
    if (value < 0 || value > 1e9 || value != std::floor(value))
      throw trace::TraceError(fmt::format(
          "{}: distributedInfo.rank is {}: a number of a rank was expected", place_(), value));
    header_.rank = static_cast<std::uint32_t>(value);
  }
  return take_nothing();
}

bool EventReader::parse_error(std::size_t, const std::string&, const json::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
  std::string why = error.what();
  if (const std::size_t column = why.find("column "); column != std::string::npos)
    if (const std::size_t colon = why.find(": ", column); colon != std::string::npos)
      why.erase(0, colon + 2);
  why = printable(why);
  if (why.size() > told_of) why = why.substr(0, told_of) + "...";
  // The parser stops within the word.
  const bool not_a_number = why.ends_with("N'") || why.ends_with("I'") || why.ends_with("na'");
  throw trace::TraceError(fmt::format("{}: is no whole JSON{}: {}", place_(),
                                      not_a_number ? ", which knows neither NaN nor Infinity" : "",
                                      why));
}

}  // namespace

ChromeHeader read_chrome_events(const std::filesystem::path& path, const VisitEvent& visit,
                                const ReadProgress& progress) {
  TextSource source(path, progress);
  std::istream stream(&source);
  EventReader reader(source, visit);
  json::sax_parse(stream, &reader);
  if (!reader.saw_events())
    throw trace::TraceError(fmt::format(
        "{}: has no \"traceEvents\"; the JSON of PyTorch's profiler (export_chrome_trace) has",
        source.name()));
  return reader.header();
}

}  // namespace pipewright::analysis
