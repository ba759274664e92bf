#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/expand.hpp"

namespace pipewright::jobs {
namespace {

bool is_identifier_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Recursive-descent evaluator of sums, products and factors. Results that overflow are unknown.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, Script& script) : text_(text), script_(script) {}

  std::optional<std::int64_t> evaluate() {
    const auto value = sum(0);
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  using Number = std::optional<std::int64_t>;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Number sum(int depth) {
    Number value = product(depth);
    while (value) {
      if (take('+'))
        value = combine(value, product(depth), '+');
      else if (take('-'))
        value = combine(value, product(depth), '-');
      else
        break;
    }
    return value;
  }

  Number product(int depth) {
    Number value = factor(depth);
    while (value) {
      if (take('*'))
        value = combine(value, factor(depth), '*');
      else if (take('/'))
        value = combine(value, factor(depth), '/');
      else if (take('%'))
        value = combine(value, factor(depth), '%');
      else
        break;
    }
    return value;
  }

  static Number combine(Number a, Number b, char sign) {
    if (!a || !b) return std::nullopt;
    std::int64_t result = 0;
    if ((sign == '/' || sign == '%') && (*b == 0 || *b == -1)) return std::nullopt;
    bool over = false;
    switch (sign) {
      case '+':
        over = __builtin_add_overflow(*a, *b, &result);
        break;
      case '-':
        over = __builtin_sub_overflow(*a, *b, &result);
        break;
      case '*':
        over = __builtin_mul_overflow(*a, *b, &result);
        break;
      case '/':
        result = *a / *b;
        break;
      default:
        result = *a % *b;
        break;
    }
    return over ? std::nullopt : Number(result);
  }

  Number factor(int depth) {
    constexpr int deepest = 64;
    if (depth > deepest) return std::nullopt;
    if (take('(')) {
      const Number value = sum(depth + 1);
      return take(')') ? value : std::nullopt;
    }
    if (take('-')) return combine(0, factor(depth + 1), '-');
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_identifier_character(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return std::nullopt;
    if (const Number number = base::parse_number<std::int64_t>(word)) return number;
    const auto it = script_.variables.find(std::string(word));
    if (it == script_.variables.end() || it->second.words.empty()) return std::nullopt;
    return base::parse_number<std::int64_t>(it->second.words.front().text);
  }

  std::string_view text_;
  Script& script_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> arithmetic(std::string_view expression, Script& script) {
  const std::string text = expand_to_text(expression, script);
  return Arithmetic(text, script).evaluate();
}

}  // namespace pipewright::jobs
