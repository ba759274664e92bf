#pragma once

#include <cstddef>
#include <cstdint>
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

// Longer expressions are refused: they are trees on the stack.
inline constexpr std::size_t longest_expression = 4000;

// What a person writes of a candidate, as a tree:
//   or < and < not < one comparison < + - < * / % < unary -
// with numbers, names, 'texts', true, false, parentheses, min(...) and max(...).
struct Expression {
  enum class Op : std::uint8_t {
    number,
    truth,
    text,
    name,
    negate,
    logical_not,
    add,
    subtract,
    multiply,
    divide,
    modulo,  // of the quotient towards 0, as in C
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    logical_and,
    logical_or,
    min,
    max,
  };
  Op op = Op::number;
  double number = 0;  // of a truth value 0 or 1
  std::string text;   // of a text or name
  std::vector<Expression> children;
  std::size_t column = 0;
};

// Throws ExpressionError.
Expression parse_expression(std::string_view text);

}  // namespace pipewright::search
