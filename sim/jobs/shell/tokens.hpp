#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs {

// A word of a script as written, with its quotes, or an operator.
struct Token {
  std::string raw;
  int line = 1;
  bool is_operator = false;       // ; & && || | ( ) ;; and the end of a line as ;
  bool is_array = false;          // NAME=( or NAME+=(, whose words follow
  std::vector<Token> items = {};  // of an array
};

// A here-document, and the line on which it begins.
struct HereDocument {
  std::string text;
  int line = 1;
};

// The tokens of a script without comments; unfinished quotes end with the text. Its here-documents
// go to `documents`, if there is one.
std::vector<Token> tokens_of(std::string_view text, std::vector<HereDocument>* documents = nullptr);

// How many characters of `text`, which begins with an opening quote, `$(`, `${` or a backquote, go
// up to and with what closes it.
std::size_t closed_length(std::string_view text);

}  // namespace pipewright::jobs
