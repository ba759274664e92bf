#include "sim/search/space/token.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

constexpr std::array<std::string_view, 17> signs{
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
      std::ranges::find_if(signs, [&](std::string_view s) { return text.starts_with(s); });
  if (found != signs.end()) return {Token::Kind::sign, std::string(*found), 0, column};
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

}  // namespace

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

}  // namespace pipewright::search
