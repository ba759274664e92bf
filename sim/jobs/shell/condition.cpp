#include "sim/jobs/shell/condition.hpp"

#include <algorithm>

#include "sim/base/numbers.hpp"

namespace pipewright::jobs {
namespace {

// Removes unknowns from a text, as a shell expands unset variables to nothing.
std::string without_unknowns(const std::string& text) {
  std::string text_without_unknowns;
  bool inside = false;
  for (const char c : text) {
    if (c == unknown_begin) inside = true;
    if (!inside) text_without_unknowns += c;
    if (c == unknown_end) inside = false;
  }
  return text_without_unknowns;
}

// True if the text contains the output of a command, which is unknown, and not just an unset
// variable.
bool has_command_output(const std::string& text) {
  const auto unknown = unknown_in(text);
  return unknown && unknown->find_first_of("$`") != std::string::npos;
}

std::optional<bool> compare_words(const std::string& left, const std::string& sign,
                                  const std::string& right) {
  if (has_command_output(left) || has_command_output(right)) return std::nullopt;
  const std::string a = without_unknowns(left);
  const std::string b = without_unknowns(right);
  if (sign == "=" || sign == "==") return matches(a, b);
  if (sign == "!=") return !matches(a, b);
  const auto x = base::parse_number<std::int64_t>(a.empty() ? "0" : a);
  const auto y = base::parse_number<std::int64_t>(b.empty() ? "0" : b);
  if (!x || !y) return std::nullopt;
  if (sign == "-eq") return *x == *y;
  if (sign == "-ne") return *x != *y;
  if (sign == "-lt") return *x < *y;
  if (sign == "-le") return *x <= *y;
  if (sign == "-gt") return *x > *y;
  if (sign == "-ge") return *x >= *y;
  return std::nullopt;
}

std::optional<bool> evaluate_test(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words.front() == "!") {
    const auto inner = evaluate_test({words.begin() + 1, words.end()});
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (words.size() == 1) return !without_unknowns(words.front()).empty();
  if (words.size() == 2) {
    if (has_command_output(words[1])) return std::nullopt;
    if (words[0] == "-z") return without_unknowns(words[1]).empty();
    if (words[0] == "-n") return !without_unknowns(words[1]).empty();
    return std::nullopt;
  }
  if (words.size() == 3) return compare_words(words[0], words[1], words[2]);
  return std::nullopt;
}

}  // namespace

bool matches(std::string_view text, std::string_view pattern) {
  // Greedy matching, with the last star as the position to backtrack to.
  std::size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++t;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
}

std::optional<bool> holds(const std::vector<Word>& command) {
  std::vector<std::string> words;
  for (const Word& word : command) words.push_back(word.text);
  if (words.empty()) return std::nullopt;
  if (words.front() == "true" || words.front() == ":") return true;
  if (words.front() == "false") return false;
  if (words.front() == "[" || words.front() == "[[") {
    if (words.back() == "]" || words.back() == "]]") words.pop_back();
  } else if (words.front() != "test") {
    return std::nullopt;
  }
  words.erase(words.begin());
  return evaluate_test(words);
}

}  // namespace pipewright::jobs
