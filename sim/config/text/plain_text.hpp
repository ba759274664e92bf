#pragma once

#include <string_view>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// Throws an Error at the first byte that is no plain text: a control character other than tab and
// line breaks, or invalid UTF-8. `origin` is the location of the first byte; with `count_lines` the
// error has the line and column of the faulty byte. `noun` names the kind of text, "a scenario".
void check_plain_text(std::string_view text, const Origin& origin, bool count_lines,
                      std::string_view noun);

// Throws an Error if far more brackets are open at once than in any valid text. This protects the
// YAML parser, which keeps everything up to the matching bracket in memory.
void check_brackets(std::string_view text, const Origin& origin);

}  // namespace pipewright::config
