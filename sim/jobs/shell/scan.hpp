#pragma once

#include <cstddef>
#include <string_view>

// Extent of quotes and expansions in the text of a script.
namespace pipewright::jobs {

// Length of the quote or expansion at the start of `text`, which begins with a quote, `$(`, `${`,
// a backquote, a backslash or an unknown, up to and including its end. 1 for other characters, and
// 0 if the end is missing.
std::size_t closed_length(std::string_view text);

// Position of the first `close` from `at` that is outside of quotes, expansions and brackets of the
// same kind; npos if there is none. `close` is ) or }.
std::size_t find_close(std::string_view text, std::size_t at, char close);

}  // namespace pipewright::jobs
