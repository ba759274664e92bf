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

constexpr int max_depth = 256;  // Deepest nesting of containers.
constexpr std::size_t max_message =
    160;  // Longest part of the parser's own message, in characters.

// Assembles events from the tokens that nlohmann's parser passes to it one by one.
class EventReader {
 public:
  EventReader(TextSource& source, const VisitEvent& visit)
      : source_(source), visit_(visit), location_([&source] { return source.location(); }) {}

  bool null() { return end_token(); }
  bool boolean(bool) { return end_token(); }
  bool number_integer(json::number_integer_t value) {
    take_base(value);
    return number(static_cast<double>(value));
  }
  bool number_unsigned(json::number_unsigned_t value) {
    take_base(static_cast<std::int64_t>(value));
    return number(static_cast<double>(value));
  }
  bool number_float(json::number_float_t value, const std::string&) { return number(value); }
  bool binary(json::binary_t&) { return end_token(); }
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
  bool end_token() {
    source_.mark();
    return true;
  }
  bool enter();
  bool leave() {
    --depth_;
    return end_token();
  }
  bool number(double value);
  // Reads the origin of times as an integer, since a double has too few digits for it.
  void take_base(std::int64_t value) {
    if (depth_ == 1 && key_ == "baseTimeNanoseconds") header_.base_ns = value;
  }
  bool in_event() const { return in_events_ && depth_ == event_depth_; }
  bool in_arguments() const { return in_events_ && in_args_ && depth_ == event_depth_ + 1; }

  TextSource& source_;
  const VisitEvent& visit_;
  std::function<std::string()> location_;
  ChromeHeader header_;
  ChromeEvent event_;
  std::string key_;        // Key of the next value.
  std::string outer_key_;  // Key of the value of the root.
  int depth_ = 0;          // Number of open containers.
  int event_depth_ = 0;    // Depth within an event.
  bool in_events_ = false;
  bool in_args_ = false;  // Within the args of an event, or in a container inside.
};

bool EventReader::enter() {
  if (++depth_ > max_depth)
    throw trace::TraceError(
        fmt::format("{}: lists and objects are nested more than {} deep", location_(), max_depth));
  return end_token();
}

bool EventReader::start_object(std::size_t) {
  enter();
  if (in_event()) event_ = {};
  if (in_events_ && depth_ == event_depth_ + 1) in_args_ = key_ == "args";
  return true;
}

bool EventReader::end_object() {
  if (in_event()) visit_(event_, location_);
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
  return end_token();
}

bool EventReader::string(std::string& value) {
  if (in_event()) {
    std::string* const field = key_ == "name"  ? &event_.name
                               : key_ == "cat" ? &event_.category
                               : key_ == "ph"  ? &event_.phase
                               : key_ == "pid" ? &event_.process
                               : key_ == "tid" ? &event_.thread
                                               : nullptr;
    if (field != nullptr) *field = std::move(value);
  } else if (depth_ == 2 && outer_key_ == "distributedInfo" && key_ == "backend") {
    header_.backend = std::move(value);
  }
  return end_token();
}

bool EventReader::number(double value) {
  if (in_event()) {
    if (key_ == "ts") event_.start = value;
    if (key_ == "dur") event_.duration = value;
    if (key_ == "pid") event_.process = fmt::format("{}", value);
    if (key_ == "tid") event_.thread = fmt::format("{}", value);
  } else if (in_arguments()) {
    std::optional<std::uint64_t>* const field = key_ == "correlation"  ? &event_.correlation
                                                : key_ == "stage"      ? &event_.stage
                                                : key_ == "microbatch" ? &event_.microbatch
                                                                       : nullptr;
    if (field != nullptr && value >= 0 && value < 1e18) *field = static_cast<std::uint64_t>(value);
  } else if (depth_ == 2 && outer_key_ == "otherData" && key_ == "microbatches") {
    if (value >= 1 && value < 1e9) header_.microbatches = static_cast<std::uint32_t>(value);
  } else if (depth_ == 2 && outer_key_ == "distributedInfo" && key_ == "rank") {
    if (value < 0 || value > 1e9 || value != std::floor(value))
      throw trace::TraceError(fmt::format(
          "{}: distributedInfo.rank is {}; expected the number of a rank", location_(), value));
    header_.rank = static_cast<std::uint32_t>(value);
  }
  return end_token();
}

bool EventReader::parse_error(std::size_t, const std::string&, const json::exception& error) {
  // Removes the parser's prefix from a message such as "[json.exception.parse_error.101] parse
  // error at line 1, column 2: syntax error ...".
  std::string message = error.what();
  if (const std::size_t column = message.find("column "); column != std::string::npos)
    if (const std::size_t colon = message.find(": ", column); colon != std::string::npos)
      message.erase(0, colon + 2);
  message = printable(message);
  if (message.size() > max_message) message = message.substr(0, max_message) + "...";
  // The parser's message ends with the characters it has read of the word NaN or Infinity.
  const bool is_special_number =
      message.ends_with("N'") || message.ends_with("I'") || message.ends_with("na'");
  throw trace::TraceError(
      fmt::format("{}: not valid JSON{}: {}", location_(),
                  is_special_number ? ", which has neither NaN nor Infinity" : "", message));
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
        "{}: no \"traceEvents\" found; expected JSON of PyTorch's profiler (export_chrome_trace)",
        source.name()));
  return reader.header();
}

}  // namespace pipewright::analysis
