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
  std::string text;  // of Kind::text without its quotes; of `and`, `or`, `not` as && || !
  double number = 0;
  std::size_t column = 0;
};

constexpr std::array<std::string_view, 17> written_signs{
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", ",",
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_in_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }

// "and" is another way to write "&&".
Token word(std::string_view text, std::size_t column) {
  if (text == "and") return {Token::Kind::sign, "&&", 0, column};
  if (text == "or") return {Token::Kind::sign, "||", 0, column};
  if (text == "not") return {Token::Kind::sign, "!", 0, column};
  return {Token::Kind::name, std::string(text), 0, column};
}

Token number(std::string_view text, std::size_t column, std::size_t& length) {
  Token token{Token::Kind::number, {}, 0, column};
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), token.number);
  length = static_cast<std::size_t>(rest - text.data());
  if (code != std::errc{} || !std::isfinite(token.number))
    throw ExpressionError(column, "a number is beyond all bounds");
  if (length < text.size() && is_in_name(text[length]))
    throw ExpressionError(column + length,
                          fmt::format("{} follows a number; numbers have no units here, memory_gib "
                                      "is in GiB",
                                      config::in_quotes(text.substr(length, 1))));
  token.text = text.substr(0, length);
  return token;
}

Token quoted(std::string_view text, std::size_t column, std::size_t& length) {
  const std::size_t end = text.find(text.front(), 1);
  if (end == std::string_view::npos)
    throw ExpressionError(column, "a text begins here and does not end; close its quotes");
  length = end + 1;
  return {Token::Kind::text, std::string(text.substr(1, end - 1)), 0, column};
}

Token sign(std::string_view text, std::size_t column) {
  const auto found =
      std::ranges::find_if(written_signs, [&](std::string_view s) { return text.starts_with(s); });
  if (found != written_signs.end()) return {Token::Kind::sign, std::string(*found), 0, column};
  if (text.front() == '=')
    throw ExpressionError(column, "'=' sets nothing here; write == for equal");
  if (text.front() == '&' || text.front() == '|')
    throw ExpressionError(column, fmt::format("'{0}' has no meaning; write {0}{0}, or {1}",
                                              text.front(), text.front() == '&' ? "and" : "or"));
  throw ExpressionError(column,
                        fmt::format("{} has no meaning here; allowed: + - * / %, comparisons, "
                                    "and, or, not, min, max, parentheses",
                                    config::in_quotes(text.substr(0, 1))));
}

using Op = Expression::Op;

// Ends with Kind::end.
std::vector<Token> tokens(std::string_view text) {
  if (text.size() > longest_expression)
    throw ExpressionError(1, fmt::format("more than the {} characters allowed; give several "
                                         "constraints",
                                         longest_expression));
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
      result.push_back(word(rest.substr(0, length), i + 1));
    } else if (is_digit(c)) {
      result.push_back(number(rest, i + 1, length));
    } else if (c == '\'' || c == '"') {
      result.push_back(quoted(rest, i + 1, length));
    } else {
      result.push_back(sign(rest, i + 1));
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
constexpr std::array any_sign{Sign{"||", Op::logical_or}};
constexpr std::array all_sign{Sign{"&&", Op::logical_and}};
constexpr std::array comparisons{Sign{"<", Op::less},    Sign{"<=", Op::less_equal},
                                 Sign{">", Op::greater}, Sign{">=", Op::greater_equal},
                                 Sign{"==", Op::equal},  Sign{"!=", Op::not_equal}};
constexpr std::array sums{Sign{"+", Op::add}, Sign{"-", Op::subtract}};
constexpr std::array products{Sign{"*", Op::multiply}, Sign{"/", Op::divide},
                              Sign{"%", Op::modulo}};

// By recursive descent, one function a level of precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens(text)) {}

  Expression parse() {
    Expression whole = disjunction();
    if (now().kind != Token::Kind::end)
      throw ExpressionError(now().column,
                            fmt::format("{} follows what is whole already; an operator such as "
                                        "and, <= or * goes between",
                                        shown()));
    return whole;
  }

 private:
  using Level = Expression (Parser::*)();

  const Token& now() const { return tokens_[next_]; }
  std::string shown() const {
    return now().kind == Token::Kind::end ? "the end" : config::in_quotes(now().text);
  }
  bool skip(std::string_view sign) {
    if (now().kind != Token::Kind::sign || now().text != sign) return false;
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
    for (std::size_t column = now().column; const auto op = take(signs); column = now().column) {
      Expression right = (this->*operand)();
      left = {*op, 0, {}, {std::move(left), std::move(right)}, column};
    }
    return left;
  }

  Expression disjunction() { return chain(any_sign, &Parser::conjunction); }
  Expression conjunction() { return chain(all_sign, &Parser::negation); }

  Expression negation() {
    const std::size_t column = now().column;
    if (!skip("!")) return comparison();
    const Deeper deeper(*this);
    return {Op::logical_not, 0, {}, {negation()}, column};
  }

  Expression comparison() {
    Expression left = sum();
    const std::size_t column = now().column;
    const auto op = take(comparisons);
    if (!op) return left;
    Expression right = sum();
    const std::size_t again = now().column;
    if (take(comparisons))
      throw ExpressionError(again, "comparisons make no chain; write a <= b and b <= c");
    return {*op, 0, {}, {std::move(left), std::move(right)}, column};
  }

  Expression sum() { return chain(sums, &Parser::product); }
  Expression product() { return chain(products, &Parser::unary); }

  Expression unary() {
    const std::size_t column = now().column;
    const Deeper deeper(*this);
    if (skip("-")) return {Op::negate, 0, {}, {unary()}, column};
    // Binds as tightly as in C where a value must follow.
    if (skip("!")) return {Op::logical_not, 0, {}, {unary()}, column};
    return value();
  }

  Expression value() {
    const Token token = now();
    if (skip("(")) {
      Expression inner = disjunction();
      close(token.column);
      return inner;
    }
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::sign)
      throw ExpressionError(token.column, fmt::format("a value is missing before {}; write a name "
                                                      "such as tp, a number or a 'text'",
                                                      shown()));
    ++next_;
    if (token.kind == Token::Kind::number) return {Op::number, token.number, {}, {}, token.column};
    if (token.kind == Token::Kind::text) return {Op::text, 0, token.text, {}, token.column};
    if (token.text == "true" || token.text == "false")
      return {Op::truth, token.text == "true" ? 1.0 : 0.0, {}, {}, token.column};
    const std::size_t column = now().column;
    if (skip("(")) return call(token, column);
    return {Op::name, 0, token.text, {}, token.column};
  }

  Expression call(const Token& name, std::size_t open) {
    if (name.text != "min" && name.text != "max")
      throw ExpressionError(name.column, fmt::format("{} is no function; allowed: min and max",
                                                     config::in_quotes(name.text)));
    const Op op = name.text == "min" ? Op::min : Op::max;
    Expression result = disjunction();
    // Of one value, it has to be a number all the same.
    if (!skip(",")) {
      close(open);
      Expression same = result;
      return {op, 0, {}, {std::move(result), std::move(same)}, name.column};
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
      throw ExpressionError(now().column, fmt::format("{} stands where the parenthesis of column "
                                                      "{} should close",
                                                      shown(), open));
  }

  // Guards the stack against "((((...".
  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      constexpr int deepest = 50;
      if (++parser_.depth_ > deepest)
        throw ExpressionError(parser_.now().column,
                              fmt::format("nested too deeply; {} levels are allowed", deepest));
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --parser_.depth_; }
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace pipewright::search
