#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/tokens.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Returns the words to which a token expands: variables of `script` are substituted and split as in
// a shell.
std::vector<Word> expand(const Token& token, const std::string& source, Script& script);

// Expands a text without splitting it into words, as in an assignment.
std::string expand_to_text(std::string_view raw, Script& script);

// Expands the text of a here-document, in which quotes are ordinary characters.
std::string expand_document(std::string_view text, Script& script);

// Evaluates an expression of + - * / %, parentheses and variables; none if it has unknowns or is
// invalid.
std::optional<std::int64_t> arithmetic(std::string_view expression, Script& script);

}  // namespace pipewright::jobs
