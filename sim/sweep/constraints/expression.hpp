#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/error.hpp"

namespace pipewright::search {

// An error in the text of an expression, with its column, counted from 1.
struct ExpressionError : config::ErrorOf<ExpressionError> {
  ExpressionError(std::size_t column_, std::string_view text) : ErrorOf(text), column(column_) {}
  std::size_t column;
};

// Maximum number of characters of an expression. Recursive functions walk the tree of an
// expression, so its depth must be limited.
inline constexpr std::size_t longest_expression = 4000;

// An expression about a candidate, as a tree. Operators by rising precedence:
//   or < and < not < comparison < + - < * / % < unary -
// Operands are numbers, names, 'texts', true, false, parentheses, min(...) and max(...).
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
    modulo,  // remainder of the quotient rounded towards 0, as in C
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
  double number = 0;  // 0 or 1 for a truth value
  std::string text;   // content of a text, or a name
  std::vector<Expression> children;
  std::size_t column = 0;
};

// Throws ExpressionError.
Expression parse_expression(std::string_view text);

}  // namespace pipewright::search
