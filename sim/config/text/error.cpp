#include "sim/config/text/error.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace pipewright::config {

bool Origin::operator==(const Origin& rhs) const {
  return source == rhs.source && line == rhs.line && column == rhs.column && folder == rhs.folder;
}

LocatedMessage::operator std::string() const {
  const std::string place = to_string(location);
  return place.empty() ? message : fmt::format("{}: {}", place, message);
}

StructuredError::StructuredError(const Origin& location, std::string_view found,
                                 std::string_view key)
    : std::runtime_error(""), location_(location), key_(key), found_(found) {
  update_text();
}

void StructuredError::set_allowed(std::string_view allowed) {
  allowed_ = allowed;
  update_text();
}

void StructuredError::set_advice(std::string_view advice) {
  suggestion_ = advice;
  suggests_name_ = false;
  update_text();
}

void StructuredError::set_name(std::string_view name) {
  if (name.empty()) return;
  suggestion_ = name;
  suggests_name_ = true;
  update_text();
}

void StructuredError::set_option(std::string_view option) {
  option_ = option;
  update_text();
}

void StructuredError::set_location(const Origin& location) {
  location_ = location;
  update_text();
}

void StructuredError::set_place(const Origin& location, std::string_view key) {
  if (location_.source.empty()) location_ = location;
  if (key_.empty()) key_ = key;
  update_text();
}

void StructuredError::add_subject(const Origin& location, std::string_view subject) {
  found_ = fmt::format("{}: {}", subject, std::string(locate(location_, found_)));
  location_ = location;
  update_text();
}

const std::string& StructuredError::key() const { return key_.empty() ? location_.key : key_; }

std::string StructuredError::message() const {
  std::string text = found_;
  if (!option_.empty()) text += fmt::format(" ({}, or the key {})", option_, key());
  if (suggests_name_) text += fmt::format("; did you mean {}?", in_quotes(suggestion_));
  if (!suggests_name_ && !suggestion_.empty()) text += fmt::format("; {}", suggestion_);
  if (!allowed_.empty()) text += fmt::format("{} allowed: {}", suggests_name_ ? "" : ";", allowed_);
  return text;
}

void StructuredError::update_text() { text_ = locate(location_, message()); }

std::string to_string(const Origin& origin) {
  if (origin.line == 0) return origin.source;
  if (origin.column == 0) return fmt::format("{}:{}", origin.source, origin.line);
  return fmt::format("{}:{}:{}", origin.source, origin.line, origin.column);
}

LocatedMessage locate(const Origin& origin, std::string_view message) {
  return {origin, std::string(message)};
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t length = text.size();
  if (length > longest) {
    length = longest;
    const auto is_inside_character = [&] {
      return (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U;
    };
    while (length > 0 && is_inside_character()) --length;
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

}  // namespace pipewright::config
