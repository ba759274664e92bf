#include "sim/jobs/shell/reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

void TextReader::fail(const std::string& message, int line, const std::string& advice) const {
  config::Error error(config::Origin{.source = name_, .line = line > 0 ? line : line_, .column = 1},
                      message);
  if (!advice.empty()) error.suggest(advice);
  throw error;
}

void TextReader::advance(std::size_t count) {
  const std::size_t end = std::min(at_ + count, text_.size());
  while (at_ < end) {
    if (skip_mark(text_, at_, line_)) continue;
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
}

void TextReader::skip_blanks() {
  while (!at_end()) {
    if (is_blank(peek()))
      ++at_;
    else if (peek() == '\\' && peek(1) == '\n')
      advance(2);
    else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n')
      advance(3);
    else if (peek() == '#')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else if (!skip_mark(text_, at_, line_))
      return;
  }
}

void TextReader::skip_lines() {
  for (skip_blanks(); peek() == '\n'; skip_blanks()) {
    advance(1);
    read_documents();
  }
}

bool TextReader::at_word_end() const {
  const char c = peek();
  if (at_end() || is_blank(c) || c == '\n') return true;
  if ((c == '<' || c == '>') && peek(1) == '(') return false;
  return std::string_view(";&|()<>").find(c) != std::string_view::npos;
}

RawWord TextReader::read_word() {
  RawWord word{"", line_};
  while (!at_word_end()) {
    const std::string_view here = text_.substr(at_);
    std::size_t length = closed_length(here);
    const bool extends = std::string_view("?*+@!<>").find(here[0]) != std::string_view::npos;
    if (extends && here.size() > 1 && here[1] == '(') {
      const std::size_t close = find_close(here, 2, ')');
      length = close == std::string_view::npos ? 0 : close + 1;
    }
    if (here[0] == line_begin) length = here.find(line_end) + 1;
    if (length == 0)
      fail(fmt::format("the {} is not closed", here.substr(0, here[0] == '$' ? 2 : 1)), line_,
           "close it, as bash refuses the script");
    if (here.starts_with("\\\n"))
      word.raw += joined_line;
    else
      word.raw += here.substr(0, length);
    advance(length);
  }
  return word;
}

std::string TextReader::peek_word() const {
  TextReader ahead(text_, name_, line_);
  ahead.at_ = at_;
  // Reserved words are plain, so a word with quotes or expansions needs no end.
  std::string word;
  while (!ahead.at_word_end() &&
         std::string_view("\"'`$\\").find(ahead.peek()) == std::string_view::npos) {
    word += ahead.peek();
    ++ahead.at_;
  }
  return ahead.at_word_end() ? word : word + "$";
}

RawWord TextReader::read_bracket(char close) {
  const std::size_t end = find_close(text_, at_, close);
  if (end == std::string_view::npos) fail(fmt::format("the closing {} is missing", close));
  RawWord word{std::string(text_.substr(at_, end - at_)), line_};
  advance(end + 1 - at_);
  return word;
}

RawWord TextReader::read_pattern_word() {
  RawWord word{"", line_};
  int opened = 0;
  while (!at_end() && peek() != '\n' && (opened > 0 || !is_blank(peek()))) {
    if (peek() == '(') ++opened;
    if (peek() == ')') --opened;
    const std::size_t length = std::max<std::size_t>(closed_length(text_.substr(at_)), 1);
    word.raw += text_.substr(at_, length);
    advance(length);
  }
  return word;
}

bool TextReader::read_redirection(std::vector<Redirection>& redirections) {
  std::size_t digits = 0;
  while (peek(digits) >= '0' && peek(digits) <= '9') ++digits;
  static constexpr std::array<std::string_view, 11> signs{"<<<", "<<-", "&>>", "<<", "<&", "<>",
                                                          ">>",  ">&",  ">|",  "&>", "<"};
  const std::string_view here = text_.substr(at_ + digits);
  std::string_view sign;
  for (const std::string_view candidate : signs)
    if (sign.empty() && here.starts_with(candidate)) sign = candidate;
  if (sign.empty() && here.starts_with('>')) sign = ">";
  if (sign.empty() || (digits > 0 && sign.starts_with('&'))) return false;
  // <( and >( begin words.
  if ((sign == "<" || sign == ">") && here.size() > 1 && here[1] == '(') return false;
  Redirection redirection{.sign = std::string(sign)};
  if (digits > 0 && digits < 4)
    redirection.descriptor = std::stoi(std::string(text_.substr(at_, digits)));
  advance(digits + sign.size());
  skip_blanks();
  if (at_word_end())
    fail(fmt::format("a word is missing after {}", sign), 0,
         "bash refuses it, too; put a value in the place of a placeholder such as <path>");
  redirection.target = read_word();
  redirections.push_back(std::move(redirection));
  return true;
}

void TextReader::await_document(std::shared_ptr<Node> node, std::size_t index, std::string mark,
                                bool tabs) {
  awaited_.push_back({std::move(node), index, std::move(mark), tabs});
}

void TextReader::read_documents() {
  const std::vector<Awaited> awaited = std::move(awaited_);
  awaited_.clear();
  for (const Awaited& document : awaited) {
    RawWord& target = document.node->redirections[document.index].target;
    target = {"", line_};
    while (!at_end()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view row = text_.substr(at_, end - at_);
      advance(row.size() + 1);
      if (row.ends_with('\r')) row.remove_suffix(1);
      if (document.strips_tabs)
        row.remove_prefix(std::min(row.find_first_not_of('\t'), row.size()));
      if (row == document.mark) break;
      target.raw += row;
      target.raw += '\n';
    }
  }
}

}  // namespace pipewright::jobs
