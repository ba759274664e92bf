#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs {

// Token of a script: a word as written, with its quotes, or an operator.
struct Token {
  std::string raw;
  int line = 1;
  bool is_operator = false;       // ; & && || | ( ) ;; and the end of a line as ;
  bool is_array = false;          // NAME=( or NAME+=(, whose words follow
  std::vector<Token> items = {};  // words of an array
};

// Text of a here-document, with the line on which it begins.
struct HereDocument {
  std::string text;
  int line = 1;
};

// Splits a script into tokens, without comments. Quotes that are not closed end with the text.
// Here-documents are appended to `documents`, if it is not null.
std::vector<Token> tokens_of(std::string_view text, std::vector<HereDocument>* documents = nullptr);

// Length of the quote or expansion at the start of `text`, which begins with a quote, `$(`, `${` or
// a backquote, up to and including its end.
std::size_t closed_length(std::string_view text);

}  // namespace pipewright::jobs
