#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/state.hpp"
#include "sim/jobs/shell/syntax.hpp"

namespace pipewright::jobs {

// Words to which words of a command expand, with marks of lines in quoted parts.
std::vector<Word> expand_words(const std::vector<RawWord>& words, Shell& shell);
std::vector<Word> expand_word(const RawWord& word, Shell& shell);

// Expands a text without splitting it into words, as in an assignment. The text has marks of lines.
std::string expand_to_text(const RawWord& word, Shell& shell);
// The same without marks, with unset variables as nothing: what a test or a tool sees.
std::string expand_plainly(const RawWord& word, Shell& shell);
// Expands a pattern of `case` or [[ ]].
std::string expand_pattern(const RawWord& word, Shell& shell);
// Expands the text of a here-document, in which quotes are ordinary characters.
std::string expand_document(const RawWord& text, Shell& shell);

// Value of an arithmetic expression, whose expansions are replaced first.
std::optional<std::int64_t> evaluate_number(const RawWord& expression, Shell& shell);
// Key of an element of the array: NAME[key]; none if it depends on something unknown.
std::optional<std::string> expand_key(const std::string& array, const RawWord& key, Shell& shell);

// Characters at which unquoted values are split.
std::string separators(const Shell& shell);

}  // namespace pipewright::jobs
