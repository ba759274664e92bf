#include "sim/sweep/constraints/expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

struct Token {
  enum class Kind { number, name, text, sign, end };
  Kind kind = Kind::end;
  std::string text;  // without quotes for Kind::text; && || ! for `and`, `or`, `not`
  double number = 0;
  std::size_t column = 0;
};

constexpr std::array<std::string_view, 17> sign_texts{
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", ",",
};

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_in_name(char c) { return begins_name(c) || is_digit_char(c) || c == '.'; }

// Returns the token of a word: an operator for `and`, `or` and `not`, else a name.
Token word_token(std::string_view text, std::size_t column) {
  if (text == "and") return {Token::Kind::sign, "&&", 0, column};
  if (text == "or") return {Token::Kind::sign, "||", 0, column};
  if (text == "not") return {Token::Kind::sign, "!", 0, column};
  return {Token::Kind::name, std::string(text), 0, column};
}

Token number_token(std::string_view text, std::size_t column, std::size_t& length) {
  Token token{Token::Kind::number, {}, 0, column};
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), token.number);
  length = static_cast<std::size_t>(rest - text.data());
  if (code != std::errc{} || !std::isfinite(token.number))
    throw ExpressionError(column, "the number is out of range");
  if (length < text.size() && is_in_name(text[length]))
    throw ExpressionError(column + length,
                          fmt::format("{} follows a number; numbers have no units here, memory_gib "
                                      "is in GiB",
                                      config::in_quotes(text.substr(length, 1))));
  token.text = text.substr(0, length);
  return token;
}

Token text_token(std::string_view text, std::size_t column, std::size_t& length) {
  const std::size_t end = text.find(text.front(), 1);
  if (end == std::string_view::npos)
    throw ExpressionError(column, "the text that begins here has no end")
        .suggest("close its quotes");
  length = end + 1;
  return {Token::Kind::text, std::string(text.substr(1, end - 1)), 0, column};
}

Token sign_token(std::string_view text, std::size_t column) {
  const auto* const it =
      std::ranges::find_if(sign_texts, [&](std::string_view s) { return text.starts_with(s); });
  if (it != sign_texts.end()) return {Token::Kind::sign, std::string(*it), 0, column};
  if (text.front() == '=')
    throw ExpressionError(column, "'=' is no comparison").suggest("write == for equal");
  if (text.front() == '&' || text.front() == '|')
    throw ExpressionError(column, fmt::format("'{}' is no operator", text.front()))
        .suggest(fmt::format("write '{0}{0}' or '{1}'", text.front(),
                             text.front() == '&' ? "and" : "or"));
  throw ExpressionError(column,
                        fmt::format("{} has no meaning here", config::in_quotes(text.substr(0, 1))))
      .allow("+ - * / %, comparisons, and, or, not, min, max, parentheses");
}

using Op = Expression::Op;

// Splits an expression into tokens. After the last one, a token of Kind::end marks the end.
std::vector<Token> split_into_tokens(std::string_view text) {
  if (text.size() > longest_expression)
    throw ExpressionError(1, fmt::format("more than the {} characters allowed", longest_expression))
        .suggest("write several constraints");
  std::vector<Token> result;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    std::size_t length = 1;
    const char c = rest.front();
    if (c == ' ' || c == '\t' || c == '\n') {
      ++i;
      continue;
    }
    if (begins_name(c)) {
      while (length < rest.size() && is_in_name(rest[length])) ++length;
      result.push_back(word_token(rest.substr(0, length), i + 1));
    } else if (is_digit_char(c)) {
      result.push_back(number_token(rest, i + 1, length));
    } else if (c == '\'' || c == '"') {
      result.push_back(text_token(rest, i + 1, length));
    } else {
      result.push_back(sign_token(rest, i + 1));
      length = result.back().text.size();
    }
    i += length;
  }
  result.push_back({Token::Kind::end, {}, 0, text.size() + 1});
  return result;
}

struct Sign {
  std::string_view text;
  Op op;
};
constexpr std::array or_signs{Sign{"||", Op::logical_or}};
constexpr std::array and_signs{Sign{"&&", Op::logical_and}};
constexpr std::array comparison_signs{Sign{"<", Op::less},    Sign{"<=", Op::less_equal},
                                      Sign{">", Op::greater}, Sign{">=", Op::greater_equal},
                                      Sign{"==", Op::equal},  Sign{"!=", Op::not_equal}};
constexpr std::array sum_signs{Sign{"+", Op::add}, Sign{"-", Op::subtract}};
constexpr std::array product_signs{Sign{"*", Op::multiply}, Sign{"/", Op::divide},
                                   Sign{"%", Op::modulo}};

// Parser of expressions by recursive descent, with one function for each level of precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(split_into_tokens(text)) {}

  Expression parse() {
    Expression whole = disjunction();
    if (current().kind != Token::Kind::end)
      throw ExpressionError(current().column,
                            fmt::format("{} follows a complete expression", described_token()))
          .suggest("write an operator such as and, <= or * between them");
    return whole;
  }

 private:
  using Level = Expression (Parser::*)();

  const Token& current() const { return tokens_[next_]; }
  std::string described_token() const {
    return current().kind == Token::Kind::end ? "the end" : config::in_quotes(current().text);
  }
  bool skip(std::string_view sign) {
    if (current().kind != Token::Kind::sign || current().text != sign) return false;
    ++next_;
    return true;
  }
  std::optional<Op> take(std::span<const Sign> signs) {
    for (const Sign& sign : signs)
      if (skip(sign.text)) return sign.op;
    return std::nullopt;
  }

  Expression chain(std::span<const Sign> signs, Level operand) {
    Expression left = (this->*operand)();
    for (std::size_t column = current().column; const auto op = take(signs);
         column = current().column) {
      Expression right = (this->*operand)();
      left = {*op, 0, {}, {std::move(left), std::move(right)}, column};
    }
    return left;
  }

  Expression disjunction() { return chain(or_signs, &Parser::conjunction); }
  Expression conjunction() { return chain(and_signs, &Parser::negation); }

  Expression negation() {
    const std::size_t column = current().column;
    if (!skip("!")) return comparison();
    const Nesting nesting(*this);
    return {Op::logical_not, 0, {}, {negation()}, column};
  }

  Expression comparison() {
    Expression left = sum();
    const std::size_t column = current().column;
    const auto op = take(comparison_signs);
    if (!op) return left;
    Expression right = sum();
    const std::size_t again = current().column;
    if (take(comparison_signs))
      throw ExpressionError(again, "comparisons cannot be chained")
          .suggest("write a <= b and b <= c");
    return {*op, 0, {}, {std::move(left), std::move(right)}, column};
  }

  Expression sum() { return chain(sum_signs, &Parser::product); }
  Expression product() { return chain(product_signs, &Parser::unary); }

  Expression unary() {
    const std::size_t column = current().column;
    const Nesting nesting(*this);
    if (skip("-")) return {Op::negate, 0, {}, {unary()}, column};
    // Inside a comparison, `!` (or `not`) applies to the next operand alone, as in C; before a
    // comparison, it applies to the whole comparison.
    if (skip("!")) return {Op::logical_not, 0, {}, {unary()}, column};
    return value();
  }

  Expression value() {
    const Token token = current();
    if (skip("(")) {
      Expression inner = disjunction();
      close(token.column);
      return inner;
    }
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::sign)
      throw ExpressionError(token.column,
                            fmt::format("a value is missing before {}", described_token()))
          .suggest("write a name such as tp, a number or a 'text'");
    ++next_;
    if (token.kind == Token::Kind::number) return {Op::number, token.number, {}, {}, token.column};
    if (token.kind == Token::Kind::text) return {Op::text, 0, token.text, {}, token.column};
    if (token.text == "true" || token.text == "false")
      return {Op::truth, token.text == "true" ? 1.0 : 0.0, {}, {}, token.column};
    const std::size_t column = current().column;
    if (skip("(")) return call(token, column);
    return {Op::name, 0, token.text, {}, token.column};
  }

  Expression call(const Token& name, std::size_t open) {
    if (name.text != "min" && name.text != "max")
      throw ExpressionError(name.column,
                            fmt::format("{} is not a function", config::in_quotes(name.text)))
          .allow("min and max");
    const Op op = name.text == "min" ? Op::min : Op::max;
    Expression result = disjunction();
    // A single value of min or max becomes both operands, so that it is still checked to be a
    // number.
    if (!skip(",")) {
      close(open);
      Expression copy = result;
      return {op, 0, {}, {std::move(result), std::move(copy)}, name.column};
    }
    do {
      Expression right = disjunction();
      result = {op, 0, {}, {std::move(result), std::move(right)}, name.column};
    } while (skip(","));
    close(open);
    return result;
  }

  void close(std::size_t open) {
    if (!skip(")"))
      throw ExpressionError(current().column,
                            fmt::format("{} is not allowed here", described_token()))
          .suggest(fmt::format("close the parenthesis of column {} first", open));
  }

  // Counts how deeply the current expression is nested and throws ExpressionError beyond a limit,
  // so that an expression such as "((((..." cannot overflow the stack.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser_(parser) {
      constexpr int max_depth = 50;
      if (++parser_.depth_ > max_depth)
        throw ExpressionError(parser_.current().column,
                              fmt::format("nested too deeply; {} levels are allowed", max_depth));
    }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser_.depth_; }
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace pipewright::search
