#include "sim/jobs/shell/test.hpp"

#include <algorithm>
#include <array>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/arithmetic.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/pattern.hpp"

namespace pipewright::jobs {
namespace {

using Result = std::optional<bool>;

Result negated(Result result) { return result ? Result(!*result) : result; }
// A known operand may decide alone.
Result both(Result a, Result b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? Result(true) : std::nullopt;
}
Result either(Result a, Result b) { return negated(both(negated(a), negated(b))); }

bool is_file_test(std::string_view sign) {
  return sign.size() == 2 && sign[0] == '-' &&
         std::string_view("abcdefghkprstuwxGLNOS").find(sign[1]) != std::string_view::npos;
}

Result one_operand(const std::string& sign, const std::string& text, Shell& shell) {
  if (sign == "-v") {
    const std::size_t index = text.find('[');
    const Variable* const variable = shell.find(text.substr(0, index));
    if (variable == nullptr || index == std::string::npos)
      return variable != nullptr && !variable->words.empty();
    return shell.element(*variable, text.substr(index + 1, text.size() - index - 2)) != nullptr;
  }
  if (sign == "-z" || sign == "-n") {
    // A part that is known is enough.
    std::string known;
    for (std::size_t at = 0; at < text.size();
         at += text[at] == unknown_begin ? unknown_length(std::string_view(text).substr(at)) : 1)
      if (text[at] != unknown_begin) known += text[at];
    if (known.empty() && unknown_in(text)) return std::nullopt;
    return known.empty() == (sign == "-z");
  }
  if (is_file_test(sign)) return text.empty() ? Result(false) : std::nullopt;
  return std::nullopt;
}

std::optional<bool> compared(std::int64_t x, const std::string& sign, std::int64_t y) {
  if (sign == "-eq") return x == y;
  if (sign == "-ne") return x != y;
  if (sign == "-lt") return x < y;
  if (sign == "-le") return x <= y;
  if (sign == "-gt") return x > y;
  if (sign == "-ge") return x >= y;
  return std::nullopt;
}

bool is_number_sign(std::string_view sign) {
  static constexpr std::array<std::string_view, 6> signs{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
  return std::ranges::find(signs, sign) != signs.end();
}

bool is_two_operand_sign(std::string_view sign) {
  return sign == "=" || sign == "==" || sign == "!=" || sign == "<" || sign == ">" ||
         is_number_sign(sign);
}

// Evaluates the words of [ ], which are texts.
class Single {
 public:
  Single(const std::vector<std::string>& words, Shell& shell) : words_(words), shell_(shell) {}

  Result evaluate() {
    if (words_.empty()) return false;
    Result result = any();
    // [ fails if words are left, as after an unset variable without quotes.
    return at_ == words_.size() ? result : Result(false);
  }

 private:
  const std::string& word(std::size_t ahead = 0) const {
    static const std::string none;
    return at_ + ahead < words_.size() ? words_[at_ + ahead] : none;
  }
  std::size_t left() const { return words_.size() - at_; }

  Result any() {
    Result result = all();
    while (left() > 1 && word() == "-o") {
      ++at_;
      result = either(result, all());
    }
    return result;
  }
  Result all() {
    Result result = one();
    while (left() > 1 && word() == "-a") {
      ++at_;
      result = both(result, one());
    }
    return result;
  }

  Result one() {
    if (left() == 0) return false;
    if (left() >= 3 && is_two_operand_sign(word(1))) return two_operands();
    if (word() == "!" && left() > 1) {
      ++at_;
      return negated(one());
    }
    if (word() == "(" && left() > 2) {
      ++at_;
      const Result result = any();
      if (word() == ")") ++at_;
      return result;
    }
    if (left() >= 2 && word().size() == 2 && word()[0] == '-' && word(1) != "-a" &&
        word(1) != "-o") {
      at_ += 2;
      return one_operand(words_[at_ - 2], words_[at_ - 1], shell_);
    }
    return one_operand("-n", words_[at_++], shell_);
  }

  Result two_operands() {
    const std::string &a = word(), sign = word(1), &b = word(2);
    at_ += 3;
    if (a == b && (sign == "=" || sign == "==")) return true;
    if (unknown_in(a) || unknown_in(b)) return std::nullopt;
    if (sign == "=" || sign == "==") return a == b;
    if (sign == "!=") return a != b;
    if (sign == "<") return a < b;
    if (sign == ">") return a > b;
    const auto x = base::parse_number<std::int64_t>(a);
    const auto y = base::parse_number<std::int64_t>(b);
    return x && y ? compared(*x, sign, *y) : Result(false);
  }

  const std::vector<std::string>& words_;
  Shell& shell_;
  std::size_t at_ = 0;
};

// Evaluates the words of [[ ]], which are expanded one by one.
class Double {
 public:
  Double(const Node& test, Shell& shell) : words_(test.words), shell_(shell) {}

  Result evaluate() {
    if (words_.empty()) return false;
    const Result result = any(0);
    return at_ == words_.size() ? result : std::nullopt;
  }

 private:
  bool is_sign(std::string_view sign) const {
    return at_ < words_.size() && words_[at_].is_operator && words_[at_].raw == sign;
  }

  Result any(int depth) {
    Result result = all(depth);
    while (is_sign("||")) {
      ++at_;
      const Result next = all(depth);
      result = either(result, next);
    }
    return result;
  }
  Result all(int depth) {
    Result result = one(depth);
    while (is_sign("&&")) {
      ++at_;
      const Result next = one(depth);
      result = both(result, next);
    }
    return result;
  }

  Result one(int depth) {
    constexpr int max_depth = 32;
    if (at_ >= words_.size() || depth > max_depth) return std::nullopt;
    if (is_sign("!")) {
      ++at_;
      return negated(one(depth + 1));
    }
    if (is_sign("(")) {
      ++at_;
      const Result result = any(depth + 1);
      if (is_sign(")")) ++at_;
      return result;
    }
    const RawWord& first = words_[at_];
    const std::string& sign = at_ + 1 < words_.size() ? words_[at_ + 1].raw : first.raw;
    const bool pattern = sign == "=" || sign == "==" || sign == "!=" || sign == "=~";
    if (at_ + 2 < words_.size() &&
        (pattern || is_number_sign(sign) ||
         (words_[at_ + 1].is_operator && (sign == "<" || sign == ">")))) {
      at_ += 3;
      return two_operands(first, sign, words_[at_ - 1]);
    }
    if (first.raw.size() == 2 && first.raw[0] == '-' && at_ + 1 < words_.size() &&
        !words_[at_ + 1].is_operator) {
      at_ += 2;
      return one_operand(first.raw, expand_plainly(words_[at_ - 1], shell_), shell_);
    }
    ++at_;
    return one_operand("-n", expand_plainly(first, shell_), shell_);
  }

  Result two_operands(const RawWord& left, const std::string& sign, const RawWord& right) {
    const std::string a = expand_plainly(left, shell_);
    if (is_number_sign(sign)) {
      const auto x = arithmetic(a, shell_);
      const auto y = arithmetic(expand_plainly(right, shell_), shell_);
      return x && y ? compared(*x, sign, *y) : std::nullopt;
    }
    if (sign == "=~") return matches_expression(a, right);
    const std::string b = expand_pattern(right, shell_);
    if (unknown_in(a) || unknown_in(b)) return std::nullopt;
    if (sign == "<") return a < b;
    if (sign == ">") return a > b;
    const Result result = matches(a, b);
    return sign == "!=" ? negated(result) : result;
  }

  Result matches_expression(const std::string& text, const RawWord& right) {
    const std::string expression = expand_pattern(right, shell_);
    if (unknown_in(text) || unknown_in(expression)) return std::nullopt;
    shell_.charge(text.size() + expression.size());
    const auto groups = match_expression(text, expression);
    if (!groups) return std::nullopt;
    std::vector<Word> words;
    for (const std::string& group : *groups) words.push_back({group, shell_.here()});
    shell_.assign_array("BASH_REMATCH", std::move(words));
    return !groups->empty();
  }

  const std::vector<RawWord>& words_;
  Shell& shell_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<bool> holds(const std::vector<std::string>& words, Shell& shell) {
  constexpr std::size_t max_test_words = 1000;
  return words.size() > max_test_words ? std::nullopt : Single(words, shell).evaluate();
}

std::optional<bool> holds(const Node& test, Shell& shell) { return Double(test, shell).evaluate(); }

}  // namespace pipewright::jobs
