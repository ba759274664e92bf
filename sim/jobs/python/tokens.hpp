#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Reads configurations in Python without running Python: tokens and syntax of the language, values,
// modules found in folders, and an interpreter that marks what it cannot follow.
namespace pipewright::jobs::python {

// Token of Python (docs.python.org/3/reference/lexical_analysis.html).
struct Token {
  enum class Kind : std::uint8_t {
    name,
    number,
    text,       // literal string, with its escapes replaced
    formatted,  // literal f-string, as it is written between its quotes
    operation,  // operator or delimiter
    newline,
    indent,
    dedent,
    end,
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
  int column = 1;
  std::size_t begin = 0;  // offsets in the source
  std::size_t end = 0;
};

// Splits a module into tokens, or an expression of an f-string, which starts at `line` and has no
// indentation. Throws config::Error, with `source` as the file, for text that is not Python.
std::vector<Token> tokens_of(std::string_view text, const std::string& source, int line = 1,
                             bool is_expression = false);

}  // namespace pipewright::jobs::python
