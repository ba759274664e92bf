#include <array>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/tools.hpp"

namespace pipewright::jobs {
namespace {

using Output = std::optional<ToolOutput>;

// Evaluates an expression of numbers with + - * / % and parentheses. With `whole`, as bc does,
// quotients lose their fraction.
class Calculation {
 public:
  Calculation(std::string_view text, bool whole) : text_(text), whole_(whole) {}

  std::optional<double> evaluate() {
    const double value = sum(0);
    skip();
    return at_ == text_.size() && valid_ && std::isfinite(value) ? std::optional(value)
                                                                 : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  double sum(int depth) {
    double value = product(depth);
    for (;;) {
      if (take('+'))
        value += product(depth);
      else if (take('-'))
        value -= product(depth);
      else
        return value;
    }
  }
  double product(int depth) {
    double value = factor(depth);
    for (;;) {
      if (take('*')) {
        value *= factor(depth);
      } else if (take('/')) {
        value /= factor(depth);
        if (whole_) value = std::trunc(value);
      } else if (take('%')) {
        value = std::fmod(value, factor(depth));
      } else {
        return value;
      }
    }
  }
  double factor(int depth) {
    constexpr int deepest = 64;
    if (depth > deepest) valid_ = false;
    if (!valid_) return 0;
    if (take('-')) return -factor(depth + 1);
    if (take('(')) {
      const double value = sum(depth + 1);
      valid_ = valid_ && take(')');
      return value;
    }
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.'))
      ++at_;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E') && !whole_) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    }
    const auto value = base::parse_number<double>(text_.substr(begin, at_ - begin));
    valid_ = valid_ && value.has_value() && (!whole_ || *value == std::trunc(*value));
    return value.value_or(0);
  }

  std::string_view text_;
  bool whole_;
  std::size_t at_ = 0;
  bool valid_ = true;
};

// Numbers beyond this are not exact as double.
constexpr double max_exact = 9.0e15;

Output seq(const std::vector<std::string>& words) {
  constexpr std::int64_t limit = 100'000;
  std::array<std::int64_t, 3> values{1, 1, 1};  // first, step, last
  if (words.size() < 2 || words.size() > 4) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto value = base::parse_number<std::int64_t>(words[i]);
    if (!value || *value < -limit || *value > limit) return std::nullopt;
    const std::size_t place = i + 1 == words.size() ? 2 : i - 1;
    values[place] = *value;
  }
  std::string text;
  if (values[1] == 0) return std::nullopt;
  for (std::int64_t i = values[0]; values[1] > 0 ? i <= values[2] : i >= values[2]; i += values[1])
    text += fmt::format("{}\n", i);
  return ToolOutput{text};
}

std::string joined(const std::vector<std::string>& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += words[i] + " ";
  return text;
}

Output expr(const std::vector<std::string>& words) {
  const std::string text = joined(words, 1);
  const auto value = Calculation(text, true).evaluate();
  if (!value || std::abs(*value) > max_exact) return std::nullopt;
  return ToolOutput{fmt::format("{:.0f}\n", *value), *value != 0};
}

Output bc(const std::vector<std::string>& words, const std::optional<std::string>& input) {
  if (!input || words.size() > 1) return std::nullopt;
  std::string text = *input;
  while (text.ends_with('\n')) text.pop_back();
  if (text.find('\n') != std::string::npos) return std::nullopt;
  const auto value = Calculation(text, true).evaluate();
  if (!value || std::abs(*value) > max_exact) return std::nullopt;
  return ToolOutput{fmt::format("{:.0f}\n", *value)};
}

// awk 'BEGIN { printf "FORMAT", EXPRESSION }', which scripts use to calculate.
Output awk(const std::vector<std::string>& words) {
  if (words.size() != 2) return std::nullopt;
  std::string_view text = words[1];
  const auto trim = [&] {
    while (!text.empty() && std::string_view(" \t\n;").find(text.front()) != std::string_view::npos)
      text.remove_prefix(1);
    while (!text.empty() && std::string_view(" \t\n;").find(text.back()) != std::string_view::npos)
      text.remove_suffix(1);
  };
  const auto take = [&](std::string_view word) {
    trim();
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  };
  if (!take("BEGIN") || !take("{")) return std::nullopt;
  trim();
  if (!text.ends_with('}')) return std::nullopt;
  text.remove_suffix(1);
  std::string format = "%.6g\\n";
  if (take("printf")) {
    if (!take("\"")) return std::nullopt;
    const std::size_t end = text.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    format = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!take(",")) return std::nullopt;
  } else if (!take("print")) {
    return std::nullopt;
  }
  trim();
  const auto value = Calculation(text, false).evaluate();
  if (!value || std::abs(*value) > max_exact) return std::nullopt;
  const bool ends_line = format.ends_with("\\n");
  if (ends_line) format.resize(format.size() - 2);
  // print writes whole numbers in full.
  if (format == "%.6g" && *value == std::trunc(*value)) format = "%d";
  std::string number;
  if (format == "%d" || format == "%i")
    number = fmt::format("{:.0f}", std::trunc(*value));
  else if (format.size() == 4 && format.starts_with("%.") && format[2] >= '0' && format[2] <= '9' &&
           (format[3] == 'f' || format[3] == 'g'))
    number = fmt::format(fmt::runtime(fmt::format("{{:{}}}", format.substr(1))), *value);
  else
    return std::nullopt;
  return ToolOutput{number + (ends_line ? "\n" : "")};
}

}  // namespace

Output run_number_tool(const std::vector<std::string>& words,
                       const std::optional<std::string>& input) {
  const std::string& name = words.front();
  if (name == "seq") return seq(words);
  if (name == "expr") return expr(words);
  if (name == "bc") return bc(words, input);
  if (name == "awk" || name == "gawk") return awk(words);
  return std::nullopt;
}

}  // namespace pipewright::jobs
