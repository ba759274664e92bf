#include "sim/jobs/shell/split.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {

std::vector<Word> split_words(const Word& word) {
  std::vector<Word> words;
  const std::string_view text = word.text;
  int line = word.origin.line;
  bool open = false;
  for (std::size_t at = 0; at < text.size();) {
    if (skip_mark(text, at, line)) continue;
    const char c = text[at];
    if (std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos) {
      open = false;
      if (c == '\n' && line > 0) ++line;
      ++at;
      continue;
    }
    if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
      ++at;
      continue;
    }
    const std::size_t length = std::max<std::size_t>(closed_length(text.substr(at)), 1);
    if (!open) {
      words.push_back({"", word.origin});
      words.back().origin.line = line;
    }
    open = true;
    for (const char part : text.substr(at, length)) {
      if (part != '"' && part != '\'') words.back().text += part;
      if (part == '\n' && line > 0) ++line;
    }
    at += length;
  }
  return words;
}

}  // namespace pipewright::jobs
