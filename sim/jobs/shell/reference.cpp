#include "sim/jobs/shell/reference.hpp"

#include <algorithm>

#include "sim/jobs/shell/pattern.hpp"
#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {
namespace {

bool is_letter_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string with_case(std::string text, bool upper, bool all) {
  for (std::size_t i = 0; i < text.size() && (all || i == 0); ++i) {
    const char c = text[i];
    if (upper && c >= 'a' && c <= 'z') text[i] = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') text[i] = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Position behind the ] that ends an index at `at`.
std::size_t end_of_index(std::string_view text, std::size_t at) {
  int opened = 0;
  while (at < text.size()) {
    if (text[at] == '[') ++opened;
    if (text[at] == ']' && --opened == 0) return at + 1;
    at += std::max<std::size_t>(closed_length(text.substr(at)), 1);
  }
  return text.size();
}

}  // namespace

Reference reference_of(std::string_view inside) {
  Reference reference;
  if (inside.size() > 1 && inside.front() == '#' &&
      std::string_view("-+=?:").find(inside[1]) == std::string_view::npos) {
    reference.counts = true;
    inside.remove_prefix(1);
  } else if (inside.size() > 1 && inside.front() == '!') {
    reference.indirect = true;
    inside.remove_prefix(1);
  }
  std::size_t at = 0;
  const bool number = !inside.empty() && inside.front() >= '0' && inside.front() <= '9';
  while (at < inside.size() && is_letter_of_name(inside[at]) &&
         (!number || (inside[at] >= '0' && inside[at] <= '9')))
    ++at;
  if (at == 0 && !inside.empty()) at = 1;
  reference.name = inside.substr(0, at);
  if (at < inside.size() && inside[at] == '[') {
    const std::size_t end = end_of_index(inside, at);
    reference.index = inside.substr(at + 1, std::max(end, at + 2) - at - 2);
    at = end;
  }
  reference.rest = inside.substr(at);
  return reference;
}

std::optional<std::string> transformed(const std::string& value, std::string_view sign,
                                       const std::string& pattern, const std::string& with) {
  if (sign == "#" || sign == "##")
    return remove_match(value, pattern, End::front, sign.size() == 2);
  if (sign == "%" || sign == "%%") return remove_match(value, pattern, End::back, sign.size() == 2);
  if (sign == "/" || sign == "//") return replace_match(value, pattern, with, sign == "//", '\0');
  if (sign == "/#") return replace_match(value, pattern, with, false, '#');
  if (sign == "/%") return replace_match(value, pattern, with, false, '%');
  if (!pattern.empty()) return std::nullopt;
  if (sign == "^" || sign == "^^") return with_case(value, true, sign.size() == 2);
  if (sign == "," || sign == ",,") return with_case(value, false, sign.size() == 2);
  return std::nullopt;
}

}  // namespace pipewright::jobs
