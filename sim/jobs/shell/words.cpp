#include "sim/jobs/shell/words.hpp"

#include <algorithm>

namespace pipewright::jobs {

std::optional<std::string> unknown_in(std::string_view text) {
  const std::size_t begin = text.find(unknown_begin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find(unknown_end, begin), text.size());
  return std::string(text.substr(begin + 1, end - begin - 1));
}

std::string readable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == unknown_begin) {
      if (i + 1 < text.size() && text[i + 1] != '$' && text[i + 1] != '`') shown += '$';
    } else if (text[i] != unknown_end) {
      shown += text[i] == joined_line || text[i] == '\n' ? ' ' : text[i];
    }
  }
  return shown;
}

}  // namespace pipewright::jobs
