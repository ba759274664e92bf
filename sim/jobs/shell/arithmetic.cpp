#include "sim/jobs/shell/arithmetic.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {
namespace {

constexpr int deepest = 64;

bool is_identifier_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

using Number = std::optional<std::int64_t>;

// Operators of two operands, from the loosest to the tightest binding. Longer signs stand first, as
// `signs` are tried in order.
struct Level {
  std::array<std::string_view, 4> signs;
};
constexpr std::array<Level, 10> levels{Level{{"||"}},
                                       Level{{"&&"}},
                                       Level{{"|"}},
                                       Level{{"^"}},
                                       Level{{"&"}},
                                       Level{{"==", "!="}},
                                       Level{{"<=", ">=", "<", ">"}},
                                       Level{{"<<", ">>"}},
                                       Level{{"+", "-"}},
                                       Level{{"*", "/", "%"}}};

Number combine(Number a, Number b, std::string_view sign) {
  // A known operand may decide alone.
  if (sign == "&&" && ((a && *a == 0) || (b && *b == 0))) return 0;
  if (sign == "||" && ((a && *a != 0) || (b && *b != 0))) return 1;
  if (!a || !b) return std::nullopt;
  std::int64_t result = 0;
  bool over = false;
  if (sign == "+") over = __builtin_add_overflow(*a, *b, &result);
  if (sign == "-") over = __builtin_sub_overflow(*a, *b, &result);
  if (sign == "*") over = __builtin_mul_overflow(*a, *b, &result);
  if (over) return std::nullopt;
  if (sign == "+" || sign == "-" || sign == "*") return result;
  if (sign == "/" || sign == "%") {
    if (*b == 0 || *b == -1) return *b == 0 || sign == "/" ? std::nullopt : Number(0);
    return sign == "/" ? *a / *b : *a % *b;
  }
  if (sign == "<<" || sign == ">>") {
    if (*b < 0 || *b > 62) return std::nullopt;
    return sign == "<<" ? static_cast<std::int64_t>(static_cast<std::uint64_t>(*a) << *b)
                        : *a >> *b;
  }
  if (sign == "&&") return *a != 0 && *b != 0 ? 1 : 0;
  if (sign == "||") return *a != 0 || *b != 0 ? 1 : 0;
  if (sign == "|") return *a | *b;
  if (sign == "^") return *a ^ *b;
  if (sign == "&") return *a & *b;
  if (sign == "==") return *a == *b ? 1 : 0;
  if (sign == "!=") return *a != *b ? 1 : 0;
  if (sign == "<=") return *a <= *b ? 1 : 0;
  if (sign == ">=") return *a >= *b ? 1 : 0;
  return (sign == "<" ? *a < *b : *a > *b) ? 1 : 0;
}

Number power(Number base, Number exponent) {
  if (!base || !exponent || *exponent < 0 || *exponent > 62) return std::nullopt;
  Number result = 1;
  for (std::int64_t i = 0; i < *exponent; ++i) result = combine(result, base, "*");
  return result;
}

// Recursive-descent evaluator. Results that overflow are unknown.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, Shell& shell, int depth)
      : text_(text), shell_(shell), depth_(depth) {}

  Number evaluate() {
    skip();
    if (at_ == text_.size()) return 0;
    Number value = sequence();
    skip();
    return at_ == text_.size() && valid_ ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  bool starts(std::string_view sign) {
    skip();
    return text_.substr(at_).starts_with(sign);
  }
  bool take(std::string_view sign) {
    if (!starts(sign)) return false;
    at_ += sign.size();
    return true;
  }

  Number sequence() {
    Number value = choice();
    while (take(",")) value = choice();
    return value;
  }

  Number choice() {
    if (++depth_ > deepest) {
      valid_ = false;
      return std::nullopt;
    }
    Number value = level(0);
    if (take("?")) {
      // Assignments of the branch that is not taken do not happen.
      const bool was_quiet = quiet_;
      quiet_ = was_quiet || !value || *value == 0;
      const Number first = choice();
      if (!take(":")) valid_ = false;
      quiet_ = was_quiet || !value || *value != 0;
      const Number second = choice();
      quiet_ = was_quiet;
      value = !value ? std::nullopt : *value != 0 ? first : second;
    }
    --depth_;
    return value;
  }

  // Operator of a level at this position; empty if there is none, or if it is part of a longer one.
  std::string_view sign_at(const Level& level) {
    for (const std::string_view sign : level.signs) {
      if (sign.empty() || !starts(sign)) continue;
      const char next = at_ + sign.size() < text_.size() ? text_[at_ + sign.size()] : '\0';
      const bool longer = (sign.size() == 1 && (sign == "|" || sign == "&") && next == sign[0]) ||
                          (sign == "*" && next == '*') ||
                          ((sign == "<" || sign == ">") && next == sign[0]);
      if (!longer && (next != '=' || sign.size() == 2 || sign == "<" || sign == ">")) return sign;
    }
    return {};
  }

  Number level(std::size_t index) {
    if (index == levels.size()) return powers();
    Number value = level(index + 1);
    for (std::string_view sign = sign_at(levels[index]); !sign.empty();
         sign = sign_at(levels[index])) {
      at_ += sign.size();
      const bool was_quiet = quiet_;
      if (sign == "&&" && value && *value == 0) quiet_ = true;
      if (sign == "||" && value && *value != 0) quiet_ = true;
      const Number right = level(index + 1);
      quiet_ = was_quiet;
      value = combine(value, right, sign);
    }
    return value;
  }

  Number powers() {
    const Number base = factor();
    return take("**") ? power(base, powers()) : base;
  }

  Number factor() {
    if (++depth_ > deepest) {
      valid_ = false;
      return std::nullopt;
    }
    const Number value = factor_here();
    --depth_;
    return value;
  }

  Number factor_here() {
    if (take("++") || take("--")) {
      const std::int64_t change = text_[at_ - 1] == '+' ? 1 : -1;
      return stepped(target(), change, true);
    }
    if (take("(")) {
      const Number value = sequence();
      if (!take(")")) valid_ = false;
      return value;
    }
    if (take("-")) return combine(0, factor(), "-");
    if (take("+")) return factor();
    if (starts("!") && !starts("!=")) {
      take("!");
      const Number value = factor();
      return value ? Number(*value == 0 ? 1 : 0) : std::nullopt;
    }
    if (take("~")) {
      const Number value = factor();
      return value ? Number(~*value) : std::nullopt;
    }
    skip();
    if (at_ < text_.size() && text_[at_] == unknown_begin) {
      at_ += unknown_length(text_.substr(at_));
      return std::nullopt;
    }
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') return literal();
    return variable();
  }

  Number literal() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_identifier_character(text_[at_]) || text_[at_] == '#')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    int radix = 10;
    std::string_view digits = word;
    if (word.starts_with("0x") || word.starts_with("0X")) {
      radix = 16;
      digits = word.substr(2);
    } else if (const std::size_t hash = word.find('#'); hash != std::string_view::npos) {
      radix = static_cast<int>(base::parse_number<std::int64_t>(word.substr(0, hash)).value_or(0));
      digits = word.substr(hash + 1);
    } else if (word.size() > 1 && word.front() == '0') {
      radix = 8;
    }
    if (radix < 2 || radix > 36 || digits.empty()) valid_ = false;
    Number value = 0;
    for (const char c : digits) {
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      if (digit < 0 || digit >= radix) valid_ = false;
      value = combine(combine(value, radix, "*"), digit, "+");
    }
    return value;
  }

  // Variable, or element of an array.
  struct Target {
    std::string name;
    std::optional<std::string> key;
  };

  Target target() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_identifier_character(text_[at_])) ++at_;
    Target found{std::string(text_.substr(begin, at_ - begin)), {}};
    if (found.name.empty()) {
      valid_ = false;
      at_ = text_.size();
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      const std::size_t close = text_.find(']', at_);
      const std::string_view inside =
          text_.substr(at_ + 1, std::min(close, text_.size()) - at_ - 1);
      at_ = close == std::string_view::npos ? text_.size() : close + 1;
      const Variable* const array = shell_.find(found.name);
      if (array != nullptr && array->associative)
        found.key = inside;
      else if (const Number index = Arithmetic(inside, shell_, depth_ + 1).evaluate())
        found.key = fmt::format("{}", *index);
      else
        valid_ = false;
    }
    return found;
  }

  Number value_of(const Target& lvalue) {
    const Variable* const variable = shell_.find(lvalue.name);
    const Word* word = nullptr;
    if (variable != nullptr && lvalue.key)
      word = shell_.element(*variable, *lvalue.key);
    else if (variable != nullptr && !variable->words.empty())
      word = &variable->words.front();
    // A variable that the script sets later is 0.
    if (word == nullptr)
      return variable != nullptr || shell_.script.written.contains(lvalue.name) ? Number(0)
                                                                                : std::nullopt;
    const std::string text = without_marks(word->text);
    if (const Number number = base::parse_number<std::int64_t>(text);
        number && !text.starts_with('0'))
      return number;
    if (depth_ > deepest / 2) return std::nullopt;
    return Arithmetic(text, shell_, depth_ + 8).evaluate();
  }

  // A counter of the script begins with 0.
  Number changed_value(const Target& lvalue) {
    return shell_.find(lvalue.name) == nullptr ? Number(0) : value_of(lvalue);
  }

  Number store(const Target& lvalue, Number value) {
    if (quiet_ || !valid_) return value;
    Word word{value ? fmt::format("{}", *value) : unknown(fmt::format("$(({}))", text_)),
              shell_.here()};
    if (lvalue.key)
      shell_.assign_element(lvalue.name, *lvalue.key, std::move(word));
    else
      shell_.assign(lvalue.name, std::move(word));
    return value;
  }

  Number stepped(const Target& lvalue, std::int64_t change, bool before) {
    const Number old = changed_value(lvalue);
    const Number now = store(lvalue, combine(old, change, "+"));
    return before ? now : old;
  }

  Number variable() {
    const Target lvalue = target();
    if (take("++")) return stepped(lvalue, 1, false);
    if (take("--")) return stepped(lvalue, -1, false);
    static constexpr std::array<std::string_view, 10> signs{"+",  "-",  "*", "/", "%",
                                                            "<<", ">>", "&", "|", "^"};
    for (const std::string_view sign : signs)
      if (starts(fmt::format("{}=", sign))) {
        at_ += sign.size() + 1;
        const Number old = changed_value(lvalue);
        return store(lvalue, combine(old, choice(), sign));
      }
    if (starts("=") && !starts("==")) {
      take("=");
      return store(lvalue, choice());
    }
    return value_of(lvalue);
  }

  std::string_view text_;
  Shell& shell_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool quiet_ = false;
  bool valid_ = true;
};

}  // namespace

std::optional<std::int64_t> arithmetic(std::string_view expression, Shell& shell) {
  std::string plain = without_marks(expression);
  std::erase(plain, '"');
  shell.charge(1 + plain.size() / 4);
  return Arithmetic(plain, shell, 0).evaluate();
}

}  // namespace pipewright::jobs
