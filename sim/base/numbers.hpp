#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace pipewright::base {

// Parses a text that is a number and nothing else, in the format of std::from_chars: no leading
// space or plus sign. Returns nothing for any other text and for a number that the type cannot
// hold.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || rest != end) return std::nullopt;
  return number;
}

}  // namespace pipewright::base
