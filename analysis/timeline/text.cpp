#include "analysis/timeline/text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace pipewright::analysis {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The bytes of the character that `rest` begins with, 0 if it is none that can be drawn. Overlong
// forms, surrogates and what is beyond U+10FFFF are none (RFC 3629).
std::size_t character_size(std::string_view rest) {
  const auto lead = static_cast<unsigned char>(rest.front());
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || rest.size() < size) return 0;
  std::uint32_t code = lead & (0xFFU >> (size + 1));
  for (const char byte : rest.substr(1, size - 1)) {
    if (!continues(byte)) return 0;
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return code < 0xA0 ? 0 : size;  // U+0080 to U+009F are controls
}

}  // namespace

std::string drawable(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const std::size_t size = character_size(words);
    if (size == 0)
      text += "\uFFFD";
    else
      text += words.substr(0, size);
    words.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

void drop_last_character(std::string& utf8) {
  while (!utf8.empty() && continues(utf8.back())) utf8.pop_back();
  if (!utf8.empty()) utf8.pop_back();
}

}  // namespace pipewright::analysis
