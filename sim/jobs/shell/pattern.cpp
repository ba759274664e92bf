#include "sim/jobs/shell/pattern.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <regex.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/error.hpp"
#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

// Text of the set [..] at the start of a pattern; 0 if it is not closed.
std::size_t set_length(std::string_view pattern) {
  std::size_t at = 1;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']') {
    const std::size_t named =
        pattern.substr(at).starts_with("[:") ? pattern.find(":]", at) : nowhere;
    at = named != nowhere ? named + 2 : at + 1;
  }
  return at < pattern.size() ? at + 1 : 0;
}

bool in_named_set(char c, std::string_view name) {
  const bool lower = c >= 'a' && c <= 'z';
  const bool upper = c >= 'A' && c <= 'Z';
  const bool digit = c >= '0' && c <= '9';
  if (name == "digit") return digit;
  if (name == "lower") return lower;
  if (name == "upper") return upper;
  if (name == "alpha") return lower || upper;
  if (name == "alnum") return lower || upper || digit;
  if (name == "space" || name == "blank") return c == ' ' || c == '\t' || c == '\n';
  return false;
}

bool in_set(char c, std::string_view set) {
  const bool negated = !set.empty() && (set.front() == '!' || set.front() == '^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  while (!set.empty()) {
    if (set.starts_with("[:") && set.find(":]") != nowhere) {
      const std::size_t end = set.find(":]");
      found = found || in_named_set(c, set.substr(2, end - 2));
      set.remove_prefix(end + 2);
    } else if (set.size() >= 3 && set[1] == '-') {
      found = found || (c >= set[0] && c <= set[2]);
      set.remove_prefix(3);
    } else {
      if (set.front() == '\\' && set.size() > 1) set.remove_prefix(1);
      found = found || set.front() == c;
      set.remove_prefix(1);
    }
  }
  return found != negated;
}

// Length of the part of a pattern that matches one character, and whether the character matches.
std::size_t unit_length(std::string_view pattern) {
  if (pattern.front() == '\\' && pattern.size() > 1) return 2;
  if (pattern.front() == '[')
    if (const std::size_t length = set_length(pattern); length > 0) return length;
  return 1;
}
bool unit_matches(std::string_view unit, char c) {
  if (unit.size() == 1) return unit[0] == '?' || unit[0] == c;
  if (unit[0] == '\\') return unit[1] == c;
  return in_set(c, unit.substr(1, unit.size() - 2));
}

bool matches_plain(std::string_view text, std::string_view pattern) {
  // Greedy matching, with the last star as the position to backtrack to.
  std::size_t t = 0, p = 0, star = nowhere, mark = 0;
  while (t < text.size()) {
    const bool is_star = p < pattern.size() && pattern[p] == '*';
    const std::size_t length = p < pattern.size() ? unit_length(pattern.substr(p)) : 0;
    if (is_star) {
      star = p++;
      mark = t;
    } else if (length > 0 && unit_matches(pattern.substr(p, length), text[t])) {
      ++t;
      p += length;
    } else if (star != nowhere) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(p), [](char c) { return c == '*'; });
}

// Texts are matched at each of their places, so that long texts are left as they are.
constexpr std::size_t max_searched = 20'000;

// Length of the longest match at the start of a text; none if nothing matches.
std::optional<std::size_t> longest_at(std::string_view text, std::string_view pattern) {
  // Only a pattern with a star matches texts of other lengths than its units.
  std::size_t units = 0;
  bool star = false;
  for (std::size_t p = 0; p < pattern.size(); p += unit_length(pattern.substr(p))) {
    star = star || pattern[p] == '*';
    if (pattern[p] != '*') ++units;
  }
  if (units > text.size()) return std::nullopt;
  for (std::size_t length = star ? text.size() : units;; --length) {
    if (matches_plain(text.substr(0, length), pattern)) return length;
    if (length <= units) return std::nullopt;
  }
}

std::vector<std::string> sequence(std::string_view inside) {
  const std::size_t dots = inside.find("..");
  if (dots == nowhere) return {};
  std::string_view last = inside.substr(dots + 2);
  std::int64_t step = 1;
  if (const std::size_t more = last.find(".."); more != nowhere) {
    step = base::parse_number<std::int64_t>(last.substr(more + 2)).value_or(0);
    last = last.substr(0, more);
  }
  const auto begin = base::parse_number<std::int64_t>(inside.substr(0, dots));
  const auto end = base::parse_number<std::int64_t>(last);
  constexpr std::int64_t limit = 10'000;
  if (!begin || !end || std::abs(*begin) > limit || std::abs(*end) > limit) return {};
  step = std::clamp<std::int64_t>(std::abs(step), 1, limit) * (*begin <= *end ? 1 : -1);
  std::vector<std::string> words;
  for (std::int64_t i = *begin; step > 0 ? i <= *end : i >= *end; i += step)
    words.push_back(fmt::format("{}", i));
  return words;
}

// Parts of a text between commas that are in no nested braces or quotes.
std::vector<std::string> comma_parts(std::string_view inside) {
  std::vector<std::string> parts(1);
  int opened = 0;
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] == '{') ++opened;
    if (inside[at] == '}') --opened;
    if (inside[at] == ',' && opened == 0) {
      parts.emplace_back();
      ++at;
      continue;
    }
    const std::size_t length = std::max<std::size_t>(closed_length(inside.substr(at)), 1);
    parts.back() += inside.substr(at, length);
    at += length;
  }
  return parts;
}

void expand_braces_into(std::string_view raw, int depth, std::vector<std::string>& words) {
  constexpr int max_groups = 12;
  constexpr std::size_t max_braces = 10'000;
  if (depth > max_groups || words.size() > max_braces)
    throw config::Error("braces of the script expand to too many words");
  std::size_t at = 0;
  while (at < raw.size()) {
    if (raw[at] != '{') {
      at += std::max<std::size_t>(closed_length(raw.substr(at)), 1);
      continue;
    }
    int opened = 0;
    std::size_t close = at;
    for (; close < raw.size();
         close += std::max<std::size_t>(closed_length(raw.substr(close)), 1)) {
      if (raw[close] == '{') ++opened;
      if (raw[close] == '}' && --opened == 0) break;
    }
    if (close >= raw.size()) break;
    const std::string_view inside = raw.substr(at + 1, close - at - 1);
    std::vector<std::string> parts = comma_parts(inside);
    if (parts.size() == 1) parts = sequence(inside);
    if (parts.empty()) {
      ++at;
      continue;
    }
    for (const std::string& part : parts)
      expand_braces_into(fmt::format("{}{}{}", raw.substr(0, at), part, raw.substr(close + 1)),
                         depth + 1, words);
    return;
  }
  words.emplace_back(raw);
}

}  // namespace

std::optional<bool> matches(std::string_view text, std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); i += pattern[i] == '\\' ? 2 : 1)
    if (pattern[i + 1] == '(' && std::string_view("?*+@!").find(pattern[i]) != nowhere)
      return std::nullopt;
  return matches_plain(text, pattern);
}

std::string remove_match(std::string_view text, std::string_view pattern, End end, bool longest) {
  if (text.size() > max_searched) return std::string(text);
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const std::size_t length = longest ? text.size() - i : i;
    const std::size_t from = end == End::front ? 0 : text.size() - length;
    if (!matches_plain(text.substr(from, length), pattern)) continue;
    return std::string(end == End::front ? text.substr(length) : text.substr(0, from));
  }
  return std::string(text);
}

std::string replace_match(std::string_view text, std::string_view pattern, std::string_view with,
                          bool all, char anchor) {
  if (pattern.empty() && anchor == '#') return fmt::format("{}{}", with, text);
  if (pattern.empty() && anchor == '%') return fmt::format("{}{}", text, with);
  if (text.size() > max_searched || pattern.empty()) return std::string(text);
  if (anchor == '%') {
    for (std::size_t from = 0; from <= text.size(); ++from)
      if (matches_plain(text.substr(from), pattern))
        return fmt::format("{}{}", text.substr(0, from), with);
    return std::string(text);
  }
  std::string replaced;
  std::size_t at = 0;
  bool done = false;
  while (at < text.size()) {
    const auto length =
        done || (anchor == '#' && at > 0) ? std::nullopt : longest_at(text.substr(at), pattern);
    if (!length || *length == 0) {
      replaced += text[at++];
      continue;
    }
    replaced += with;
    at += *length;
    done = !all;
  }
  return replaced;
}

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\()|!+@").find(c) != nowhere) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::vector<std::string> expand_braces(std::string_view raw) {
  std::vector<std::string> words;
  if (raw.find('{') == nowhere)
    words.emplace_back(raw);
  else
    expand_braces_into(raw, 0, words);
  return words;
}

std::optional<std::vector<std::string>> match_expression(const std::string& text,
                                                         const std::string& expression) {
  // Repetitions of repetitions need much memory.
  constexpr std::size_t max_expression = 200;
  if (expression.size() > max_expression || text.size() > max_searched ||
      std::ranges::count(expression, '{') > 1)
    return std::nullopt;
  regex_t compiled;
  if (regcomp(&compiled, expression.c_str(), REG_EXTENDED) != 0) return std::nullopt;
  std::array<regmatch_t, 10> groups{};
  const bool found = regexec(&compiled, text.c_str(), groups.size(), groups.data(), 0) == 0;
  const std::size_t count = std::min(compiled.re_nsub + 1, groups.size());
  regfree(&compiled);
  std::vector<std::string> texts;
  for (std::size_t i = 0; found && i < count; ++i)
    texts.push_back(groups[i].rm_so < 0
                        ? ""
                        : text.substr(static_cast<std::size_t>(groups[i].rm_so),
                                      static_cast<std::size_t>(groups[i].rm_eo - groups[i].rm_so)));
  return texts;
}

}  // namespace pipewright::jobs
