#include "sim/jobs/shell/tokens.hpp"

#include <algorithm>

namespace pipewright::jobs {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_word(char c) {
  return is_blank(c) || c == '\n' || std::string_view(";&|()<>").find(c) != std::string_view::npos;
}

// Position behind the `close` that ends double quotes, `${..}` or `$(..)` whose content begins at
// `at`. Nested quotes and expansions are skipped, to a limited depth.
std::size_t end_of_nested(std::string_view text, std::size_t at, std::string_view close,
                          int depth) {
  constexpr int max_depth = 64;
  while (at < text.size()) {
    if (text.substr(at).starts_with(close)) return at + close.size();
    const char c = text[at];
    const bool in_double = close == "\"";
    if (c == '\\') {
      at += 2;
    } else if (c == '\'' && !in_double) {
      const std::size_t end = text.find('\'', at + 1);
      at = end == std::string_view::npos ? text.size() : end + 1;
    } else if (depth < max_depth && c == '"') {
      at = end_of_nested(text, at + 1, "\"", depth + 1);
    } else if (depth < max_depth && text.substr(at).starts_with("$((")) {
      at = end_of_nested(text, at + 3, "))", depth + 1);
    } else if (depth < max_depth && text.substr(at).starts_with("$(")) {
      at = end_of_nested(text, at + 2, ")", depth + 1);
    } else if (depth < max_depth && text.substr(at).starts_with("${")) {
      at = end_of_nested(text, at + 2, "}", depth + 1);
    } else {
      ++at;
    }
  }
  return text.size();
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, std::vector<HereDocument>* here_documents)
      : text_(text), here_documents_(here_documents) {}

  std::vector<Token> tokenize() {
    std::vector<Token> tokens;
    while (skip_blanks()) next(tokens);
    return tokens;
  }

 private:
  char at(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  // Skips white space, escaped line ends and comments. Returns false at the end of the text.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c)) {
        ++at_;
      } else if (c == '\\' && at(at_ + 1) == '\n') {
        at_ += 2;
        ++line_;
      } else if (c == '\\' && at(at_ + 1) == '\r' && at(at_ + 2) == '\n') {
        at_ += 3;
        ++line_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return true;
      }
    }
    return false;
  }

  void next(std::vector<Token>& tokens) {
    const char c = text_[at_];
    if (c == '\n') {
      tokens.push_back({";", line_, true});
      ++at_;
      ++line_;
      skip_documents();
      return;
    }
    if (c == '<' && at(at_ + 1) == '<' && at(at_ + 2) != '<') return open_document();
    if (c == '<' || c == '>') return skip_redirection();
    if (std::string_view(";&|()").find(c) != std::string_view::npos) {
      const bool twice = c != '(' && c != ')' && at(at_ + 1) == c;
      tokens.push_back({std::string(twice ? 2 : 1, c), line_, true});
      at_ += twice ? 2 : 1;
      return;
    }
    Token word = read_word();
    if (word.raw.ends_with('=') && at(at_) == '(') {
      ++at_;
      read_array(word);
    }
    tokens.push_back(std::move(word));
  }

  Token read_word() {
    Token word{"", line_};
    while (at_ < text_.size() && !ends_word(text_[at_])) {
      const char c = text_[at_];
      std::size_t length = 1;
      if (c == '\\')
        length = 2;
      else if (c == '\'' || c == '"' || c == '`' || c == '$')
        length = closed_length(text_.substr(at_));
      const std::string_view part = text_.substr(at_, length);
      word.raw += part;
      line_ += static_cast<int>(std::ranges::count(part, '\n'));
      at_ += part.size();
    }
    if (word.raw.empty()) word.raw = text_[at_++];
    return word;
  }

  void read_array(Token& array) {
    array.is_array = true;
    while (skip_blanks()) {
      const char c = text_[at_];
      if (c == ')') {
        ++at_;
        return;
      }
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (ends_word(c)) {
        ++at_;
      } else {
        array.items.push_back(read_word());
      }
    }
  }

  void skip_redirection() {
    while (at(at_) == '<' || at(at_) == '>' || at(at_) == '&' || at(at_) == '-') ++at_;
    if (skip_blanks() && !ends_word(text_[at_])) read_word();
  }

  void open_document() {
    at_ += at(at_ + 2) == '-' ? 3 : 2;
    if (!skip_blanks() || ends_word(text_[at_])) return;
    std::string mark = read_word().raw;
    std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    documents_.push_back(mark);
  }

  // Reads the here-documents that begin after the current line, and skips them.
  void skip_documents() {
    for (const std::string& mark : documents_) {
      HereDocument document{"", line_};
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view row = text_.substr(at_, end - at_);
        row.remove_prefix(std::min(row.find_first_not_of('\t'), row.size()));
        at_ = std::min(end + 1, text_.size());
        ++line_;
        if (row == mark) break;
        document.text += row;
        document.text += '\n';
      }
      if (here_documents_ != nullptr) here_documents_->push_back(std::move(document));
    }
    documents_.clear();
  }

  std::string_view text_;
  std::vector<HereDocument>* here_documents_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<std::string> documents_;
};

}  // namespace

std::size_t closed_length(std::string_view text) {
  const auto up_to = [&](std::string_view close, std::size_t from) {
    const std::size_t end = text.find(close, from);
    return end == std::string_view::npos ? text.size() : end + close.size();
  };
  if (text.starts_with('\'')) return up_to("'", 1);
  if (text.starts_with('`')) return up_to("`", 1);
  if (text.starts_with('"')) return end_of_nested(text, 1, "\"", 0);
  if (text.starts_with("$((")) return end_of_nested(text, 3, "))", 0);
  if (text.starts_with("$(")) return end_of_nested(text, 2, ")", 0);
  if (text.starts_with("${")) return end_of_nested(text, 2, "}", 0);
  return std::min<std::size_t>(1, text.size());
}

std::vector<Token> tokens_of(std::string_view text, std::vector<HereDocument>* documents) {
  return Tokenizer(text, documents).tokenize();
}

}  // namespace pipewright::jobs
