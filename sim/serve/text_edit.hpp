#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/text/value.hpp"

// Small changes of a YAML text that leave all else as it was typed: comments, order, the way in
// which maps are written. They know the usual ways to write a map; whoever calls them looks whether
// what came out says what it should.
namespace pipewright::serve {

// The text with `now` in the place of a value.
std::optional<std::string> with_value(std::string text, const config::Value& old,
                                      std::string_view now);
// With one more entry at the end of a map.
std::optional<std::string> with_entry(std::string text, const config::Value& map,
                                      std::string_view key, std::string_view now);
// Without the entry of this number of a map, which ends before line `end` (0: with the text).
std::optional<std::string> without_entry(std::string text, const config::Value& map,
                                         std::size_t number, int end);

// The comments before anything else.
std::string first_comments(std::string_view text);

}  // namespace pipewright::serve
