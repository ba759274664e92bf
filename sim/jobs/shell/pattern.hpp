#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Patterns of a shell: * ? [a-z] and \ before a literal character, as in `case` and ${NAME%.txt}.
namespace pipewright::jobs {

// True if the whole text matches. None for patterns of extglob such as @(a|b), which are not
// evaluated.
std::optional<bool> matches(std::string_view text, std::string_view pattern);

// ${NAME#pattern} and its relatives: removes the shortest or longest match from an end.
enum class End { front, back };
std::string remove_match(std::string_view text, std::string_view pattern, End end, bool longest);

// ${NAME/pattern/with}: replaces the first match, or all. `anchor` is # or % for a match at an end.
std::string replace_match(std::string_view text, std::string_view pattern, std::string_view with,
                          bool all, char anchor);

// Text as a pattern that matches only the text.
std::string literal_pattern(std::string_view text);

// Words to which braces expand: a{b,c} and {1..4}.
std::vector<std::string> expand_braces(std::string_view raw);

// Matches an extended regular expression. Returns the whole match and its groups, an empty list if
// there is no match, and none if the expression is invalid or too costly.
std::optional<std::vector<std::string>> match_expression(const std::string& text,
                                                         const std::string& expression);

}  // namespace pipewright::jobs
