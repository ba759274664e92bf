#include "sim/jobs/shell/fields.hpp"

#include <algorithm>

#include "sim/jobs/shell/pattern.hpp"

namespace pipewright::jobs {
namespace {

// Maximum size of an expanded text in bytes, for scripts that double a variable again and again.
constexpr std::size_t max_text_bytes = 1U << 20U;

}  // namespace

void Fields::begin(int line) {
  if (open_) return;
  fields_.push_back({"", {.source = source_, .line = line, .column = 1}});
  open_ = true;
  literal_ = false;
}

void Fields::append(std::string_view text) {
  if (size_ + text.size() > max_text_bytes)
    throw config::Error(config::Origin{.source = source_, .line = line_, .column = 1},
                        "a value has more than a million bytes");
  size_ += text.size();
  fields_.back().text += text;
}

void Fields::add(std::string_view text, bool quoted) {
  begin(line_);
  literal_ = true;
  append(quoted && form_ == Form::pattern ? literal_pattern(text) : std::string(text));
}

void Fields::add_split(std::string_view text, int line) {
  bool first_was_blank = false;
  bool in_word = false;
  const auto close = [&] {
    if (in_word || (first_was_blank && open_)) cut();
    in_word = false;
    first_was_blank = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (skip_mark(text, at, line)) continue;
    const char c = text[at];
    if (separators_.find(c) != std::string::npos) {
      // A separator that is no blank ends a word, which may be empty.
      const bool blank = c == ' ' || c == '\t' || c == '\n';
      if (!blank && !open_) begin(line);
      first_was_blank = true;
      close();
      if (c == '\n') ++line;
      ++at;
      continue;
    }
    const std::size_t length = c == unknown_begin ? unknown_length(text.substr(at)) : 1;
    begin(line);
    in_word = true;
    if (c != unknown_begin) literal_ = true;
    append(text.substr(at, length));
    at += length;
  }
}

void Fields::add_value(const Word& word, bool quoted) {
  if (form_ == Form::text || (form_ == Form::words && quoted)) {
    begin(line_);
    const bool moves = word.origin.line > 0 && word.origin.source == source_;
    const bool is_list =
        word.text.find_first_of(" \n") != std::string::npos || word.text.starts_with('-');
    if (moves && is_list) append(line_mark(word.origin.line));
    if (!word.may_vanish) literal_ = true;
    append(word.text);
    if (moves && is_list) append(line_mark(line_));
    return;
  }
  begin(line_);
  const std::string plain = without_marks(word.text);
  append(quoted && form_ == Form::pattern ? literal_pattern(plain) : plain);
  if (!word.may_vanish) literal_ = true;
}

void Fields::cut() {
  if (!open_) return;
  Word& word = fields_.back();
  const bool unset = !word.text.empty() && without_unset(word.text).empty();
  word.may_vanish = unset && !literal_;
  open_ = false;
}

std::vector<Word> Fields::take() {
  cut();
  return std::move(fields_);
}

std::string Fields::take_text() {
  std::string text;
  for (const Word& word : take()) text += word.text;
  return text;
}

}  // namespace pipewright::jobs
