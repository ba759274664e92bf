#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::search {

// A fault in an expression, at a column from 1; who knows where it was written says so too.
struct ExpressionError : std::runtime_error {
  ExpressionError(std::size_t where, const std::string& text)
      : std::runtime_error(text), column(where) {}
  std::size_t column;
};

struct Token {
  enum class Kind { number, name, text, sign, end };
  Kind kind = Kind::end;
  std::string text;  // of Kind::text without its quotes; of `and`, `or`, `not` as && || !
  double number = 0;
  std::size_t column = 0;
};

// Longer expressions are refused: they are trees on the stack.
inline constexpr std::size_t longest_expression = 4000;

// Ends with Kind::end. Throws ExpressionError.
std::vector<Token> tokens(std::string_view text);

}  // namespace pipewright::search
