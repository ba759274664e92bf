#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Collects the words to which a text of a script expands, each with its line.
class Fields {
 public:
  enum class Form {
    words,     // split into words
    text,      // one text, as in an assignment; lines of parts are marked
    pattern,   // one pattern: quoted characters have a backslash if they mean something
    document,  // one text in which quotes are ordinary characters
  };
  Fields(Form form, std::string source, int line, std::string separators)
      : form_(form), source_(std::move(source)), separators_(std::move(separators)), line_(line) {}

  Form form() const { return form_; }
  bool splits() const { return form_ == Form::words; }
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  // Adds literal text; `quoted` text also opens a word if it is empty.
  void add(std::string_view text, bool quoted);
  // Adds the value of an unquoted expansion, which is split into words.
  void add_split(std::string_view text, int line);
  // Adds the value of an expansion in quotes, or in a text that is not split.
  void add_value(const Word& word, bool quoted);
  // Ends a word: the next part begins another.
  void cut();
  std::vector<Word> take();
  // The whole as one text.
  std::string take_text();

 private:
  void begin(int line);
  void append(std::string_view text);

  Form form_;
  std::string source_;
  std::string separators_;  // IFS
  int line_;
  std::vector<Word> fields_;
  bool open_ = false;
  bool literal_ = false;  // the open word has more than an unquoted unknown
  std::size_t size_ = 0;
};

}  // namespace pipewright::jobs
