#include "sim/base/line_difference.hpp"

#include <algorithm>

namespace pipewright::base {
namespace {

std::optional<std::string_view> take_line(std::string_view& text, Indentation indentation) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (indentation == Indentation::ignored)
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

}  // namespace

std::optional<LineDifference> first_difference(std::string_view left, std::string_view right,
                                               Indentation indentation) {
  for (std::size_t number = 1; !left.empty() || !right.empty(); ++number) {
    const std::optional<std::string_view> left_line = take_line(left, indentation);
    const std::optional<std::string_view> right_line = take_line(right, indentation);
    if (left_line != right_line)
      return LineDifference{.number = number, .left = left_line, .right = right_line};
  }
  return std::nullopt;
}

}  // namespace pipewright::base
