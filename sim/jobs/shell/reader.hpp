#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/syntax.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Reads words and signs from the text of a script, and here-documents after the line that opens
// them.
class TextReader {
 public:
  TextReader(std::string_view text, std::string name, int line)
      : text_(text), name_(std::move(name)), line_(line) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view sign) const { return text_.substr(at_).starts_with(sign); }
  int line() const { return line_; }
  void advance(std::size_t count);

  // Skips blanks, escaped line ends and comments.
  void skip_blanks();
  // Skips blanks and line ends; reads the here-documents that begin behind them.
  void skip_lines();
  // True at a character that ends a word.
  bool at_word_end() const;
  RawWord read_word();
  // The word that follows, which is not taken.
  std::string peek_word() const;
  // Reads up to the bracket that closes, which is taken: the text of (( )) or of an index.
  RawWord read_bracket(char close);
  // Reads an expression of [[ =~ ]], in which brackets are part of the word.
  RawWord read_pattern_word();
  // Reads the redirection that follows, if there is one.
  bool read_redirection(std::vector<Redirection>& redirections);
  // The here-documents of a node are read at the end of the line; the node must live until then.
  void await_document(std::shared_ptr<Node> node, std::size_t index, std::string mark, bool tabs);

  [[noreturn]] void fail(const std::string& message, int line = 0,
                         const std::string& advice = "") const;

 private:
  struct Awaited {
    std::shared_ptr<Node> node;
    std::size_t index;
    std::string mark;
    bool strips_tabs;
  };
  void read_documents();

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
  int line_;
  std::vector<Awaited> awaited_;
};

}  // namespace pipewright::jobs
