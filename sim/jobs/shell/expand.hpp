#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/tokens.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// The words that a token becomes, variables of `script` put in and split as a shell does.
std::vector<Word> expand(const Token& token, const std::string& source, Script& script);

// The same as one text, unsplit: what an assignment takes.
std::string expand_to_text(std::string_view raw, Script& script);

// A here-document, in which quotes are as any other character.
std::string expand_document(std::string_view text, Script& script);

// A whole number of + - * / %, parentheses and variables; none where it has unknowns, or is none.
std::optional<std::int64_t> arithmetic(std::string_view expression, Script& script);

}  // namespace pipewright::jobs
