#pragma once

#include <string>
#include <string_view>

namespace pipewright::cli {

// The manual page pipewright(1) in the macros of man(7), made from the --help of every command.
std::string man_page();

// Converts a --help text to man macros: man may refill paragraphs, but keeps indented lines as they
// are.
std::string man_text(std::string_view help);

}  // namespace pipewright::cli
