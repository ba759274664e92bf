#include "sim/config/text/plain_text.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

// Returns the line and column of byte `offset` in a text that begins at `start`.
Origin moved(const Origin& start, std::string_view text, std::size_t offset) {
  Origin place = start;
  if (start.line == 0) return place;
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::ranges::count(before, '\n');
  place.line += static_cast<int>(lines);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  place.column = static_cast<int>(offset - line_start) + (lines == 0 ? start.column : 1);
  return place;
}

// Returns the number of bytes of the UTF-8 character at the start of `text`; 0 if it is invalid
// (Unicode 15, table 3-7).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint8_t {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const std::uint8_t first = byte(0);
  const std::uint8_t second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !continues(1)) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return overlong || surrogate || !continues(2) ? 0 : 3;
  }
  const bool overlong = first == 0xf0 && second < 0x90;
  const bool beyond = first == 0xf4 && second > 0x8f;
  return overlong || beyond || !continues(2) || !continues(3) ? 0 : 4;
}

}  // namespace

void check_plain_text(std::string_view text, const Origin& origin, bool count_lines,
                      std::string_view noun) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    const std::size_t length = character_length(text.substr(i, 4));
    if (control || length == 0) {
      const Origin place = count_lines ? moved(origin, text, i) : origin;
      throw Error(place, fmt::format("byte 0x{:02x} is {}", byte,
                                     control ? "a control character" : "not UTF-8"))
          .allow(fmt::format("{} in plain UTF-8 text", noun));
    }
    i += length;
  }
}

void check_brackets(std::string_view text, const Origin& origin) {
  // Limit of open brackets. It is far above max_depth, since brackets in comments and quotes are
  // counted too.
  constexpr int max_open = 1000;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if ((text[i] == ']' || text[i] == '}') && open > 0) --open;
    if (open > max_open)
      throw Error(moved(origin, text, i), "nested too deeply")
          .allow(fmt::format("{} levels", max_depth));
  }
}

}  // namespace pipewright::config
