#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/text/value.hpp"

// Small changes to a YAML text that keep its comments, its order and the style of its maps. They
// handle the usual styles of maps and return nothing for any other; the caller checks that the
// result means what it should.
namespace pipewright::serve {

// Returns the text with `replacement` in place of the value `old`.
std::optional<std::string> with_value(std::string text, const config::Value& old,
                                      std::string_view replacement);
// Returns the text with a new entry at the end of a map.
std::optional<std::string> with_entry(std::string text, const config::Value& map,
                                      std::string_view key, std::string_view value);
// Returns the text without the map entry of this index. The map ends before line `end` (0: at the
// end of the text).
std::optional<std::string> without_entry(std::string text, const config::Value& map,
                                         std::size_t index, int end);

// Returns the comment lines at the start of a text.
std::string first_comments(std::string_view text);

}  // namespace pipewright::serve
