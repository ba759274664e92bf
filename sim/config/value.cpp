#include "sim/config/value.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pipewright::config {

Value make_text(std::string text, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::text;
  value.origin = origin;
  value.text = std::move(text);
  return value;
}

Value make_list(const std::vector<std::string>& texts, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::list;
  value.origin = origin;
  for (const std::string& text : texts) value.items.push_back(make_text(text, origin));
  return value;
}

const Value* find(const Value& map, std::string_view key) {
  const auto place = std::ranges::find(map.entries, key, &Entry::key);
  return place == map.entries.end() ? nullptr : &place->value;
}

Value* find(Value& map, std::string_view key) {
  return const_cast<Value*>(find(std::as_const(map), key));
}

std::string to_string(const Origin& origin) {
  if (origin.line == 0) return origin.source;
  return fmt::format("{}:{}:{}", origin.source, origin.line, origin.column);
}

std::string locate(const Origin& origin, std::string_view message) {
  const std::string place = to_string(origin);
  return place.empty() ? std::string(message) : fmt::format("{}: {}", place, message);
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t length = text.size();
  if (length > longest) {
    length = longest;
    const auto inside_character = [&] {
      return (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U;
    };
    while (length > 0 && inside_character()) --length;
  }
  std::string result;
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return length < text.size() ? result + "..." : result;
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", shown(text)); }

std::string describe_text(std::string_view text) {
  if (text.empty()) return "an empty text";
  const bool numeric =
      std::string_view("0123456789+-.").find(text.front()) != std::string_view::npos;
  return numeric ? shown(text) : fmt::format("the text {}", in_quotes(text));
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text:
      return describe_text(value.text);
    case Value::Kind::list:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Kind::map:
      return value.entries.empty() ? "an empty map" : "a map";
  }
  return {};
}

}  // namespace pipewright::config
