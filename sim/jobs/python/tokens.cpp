#include "sim/jobs/python/tokens.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs::python {
namespace {

constexpr std::array<std::string_view, 24> long_operators{
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":="};
constexpr std::string_view short_operators = "+-*/%@&|^~<>()[]{},:.;=!";

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Replaces the escapes of a literal string.
std::string unescaped(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    constexpr std::string_view letters = "ntr\\'\"0";
    constexpr std::string_view meanings{"\n\t\r\\'\"\0", 7};
    const char escape = raw[++i];
    if (escape == '\n') continue;
    const std::size_t at = letters.find(escape);
    if (at == std::string_view::npos) text += '\\';
    text += at == std::string_view::npos ? escape : meanings[at];
  }
  return text;
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, const std::string& source, int line, bool is_expression)
      : text_(text), source_(source), line_(line), is_expression_(is_expression) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    line_begin_ = at_;
    while (at_ < text_.size()) {
      if (begins_line_ && depth_ == 0 && !is_expression_ && !read_indentation()) continue;
      read_token();
    }
    if (!tokens_.empty() && tokens_.back().kind != Token::Kind::newline && !is_expression_)
      add(Token::Kind::newline, at_);
    for (; indents_.size() > 1; indents_.pop_back()) add(Token::Kind::dedent, at_);
    add(Token::Kind::end, at_);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  [[noreturn]] void fail(std::string_view message) const {
    throw config::Error(config::locate(
        {.source = source_, .line = line_, .column = static_cast<int>(at_ - line_begin_) + 1},
        message));
  }

  void add(Token::Kind kind, std::size_t begin, std::string text = {}) {
    tokens_.push_back({.kind = kind,
                       .text = std::move(text),
                       .line = line_,
                       .column = static_cast<int>(begin - std::min(begin, line_begin_)) + 1,
                       .begin = begin,
                       .end = at_});
  }

  void end_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // Compares the indentation of a line with that of the lines before. Returns false for a line
  // without tokens, which the call skips.
  bool read_indentation() {
    int width = 0;
    for (; peek() == ' ' || peek() == '\t' || peek() == '\f'; ++at_)
      width = peek() == '\t' ? (width / 8 + 1) * 8 : width + 1;
    if (peek() == '\r') ++at_;
    if (peek() == '#') skip_comment();
    if (at_ >= text_.size()) return false;
    if (peek() == '\n') {
      end_line();
      return false;
    }
    begins_line_ = false;
    if (width > indents_.back()) {
      constexpr std::size_t deepest = 100;
      if (indents_.size() > deepest) fail("the indentation is too deep");
      indents_.push_back(width);
      add(Token::Kind::indent, at_);
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      add(Token::Kind::dedent, at_);
    }
    if (width != indents_.back()) fail("unindent does not match any outer indentation level");
    return true;
  }

  void read_token() {
    const char c = peek();
    if (c == '\n') {
      const bool ends_statement = depth_ == 0 && !is_expression_;
      if (ends_statement) {
        add(Token::Kind::newline, at_);
        begins_line_ = true;
      }
      return end_line();
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
      return;
    }
    if (c == '#') return skip_comment();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\r' ? 2 : 1;
      return end_line();
    }
    if (begins_string()) return read_string();
    if (begins_name(c)) return read_while(Token::Kind::name, continues_name);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0))
      return read_number();
    read_operator();
  }

  template <class Accepts>
  void read_while(Token::Kind kind, const Accepts& accepts) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && accepts(text_[at_])) ++at_;
    add(kind, begin, std::string(text_.substr(begin, at_ - begin)));
  }

  void read_number() {
    char before = ' ';
    read_while(Token::Kind::number, [&](char c) {
      const bool is_exponent_sign = (c == '+' || c == '-') && (before == 'e' || before == 'E');
      const bool accepts = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                           c == '_' || is_exponent_sign;
      before = c;
      return accepts;
    });
  }

  // Number of letters before the quotes of a string, such as 2 of rb"..".
  std::size_t prefix_length() const {
    std::size_t length = 0;
    constexpr std::string_view letters = "rRbBuUfF";
    while (length < 2 && letters.find(peek(length)) != std::string_view::npos && peek(length) != 0)
      ++length;
    return length;
  }

  bool begins_string() const {
    const char quote = peek(prefix_length());
    return quote == '"' || quote == '\'';
  }

  void read_string() {
    const std::size_t begin = at_;
    const int first_line = line_;
    const std::string_view prefix = text_.substr(at_, prefix_length());
    at_ += prefix.size();
    const char quote = peek();
    const bool is_long = peek(1) == quote && peek(2) == quote;
    const std::string quotes(is_long ? 3 : 1, quote);
    at_ += quotes.size();
    const std::size_t content = at_;
    while (text_.substr(at_, quotes.size()) != quotes) {
      if (at_ >= text_.size() || (!is_long && peek() == '\n')) fail("unterminated string literal");
      if (peek() == '\\') ++at_;
      if (peek() == '\n')
        end_line();
      else
        ++at_;
    }
    const std::string_view raw = text_.substr(content, at_ - content);
    at_ += quotes.size();
    const bool is_raw = prefix.find_first_of("rR") != std::string_view::npos;
    const bool is_formatted = prefix.find_first_of("fF") != std::string_view::npos;
    add(is_formatted ? Token::Kind::formatted : Token::Kind::text, begin,
        is_raw || is_formatted ? std::string(raw) : unescaped(raw));
    tokens_.back().line = first_line;
  }

  void read_operator() {
    const std::size_t begin = at_;
    for (const std::string_view operation : long_operators)
      if (text_.substr(at_, operation.size()) == operation) {
        at_ += operation.size();
        return add(Token::Kind::operation, begin, std::string(operation));
      }
    const char c = peek();
    if (short_operators.find(c) == std::string_view::npos)
      fail(fmt::format("the character {} is not part of Python", config::in_quotes({&c, 1})));
    ++at_;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    add(Token::Kind::operation, begin, std::string(1, c));
  }

  std::string_view text_;
  const std::string& source_;
  int line_;
  bool is_expression_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int depth_ = 0;  // open brackets
  bool begins_line_ = true;
  std::vector<int> indents_{0};
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& source, int line,
                             bool is_expression) {
  return Tokenizer(text, source, line, is_expression).run();
}

}  // namespace pipewright::jobs::python
