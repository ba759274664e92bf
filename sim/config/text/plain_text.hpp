#pragma once

#include <string_view>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// Throws an Error at the first byte that is no plain text: a control character other than tab and
// line breaks, or a byte that is not UTF-8. `origin` is where `text` begins; with `count_lines`
// the error's place moves along with the text; `noun` says what is read, as in "a scenario".
void check_plain_text(std::string_view text, const Origin& origin, bool count_lines,
                      std::string_view noun);

// Throws an Error where so many brackets are open at once that no sane text could mean it; it
// spares the parser, which holds everything up to the matching bracket in memory.
void check_brackets(std::string_view text, const Origin& origin);

}  // namespace pipewright::config
