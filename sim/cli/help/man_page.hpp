#pragma once

#include <string>
#include <string_view>

namespace pipewright::cli {

// pipewright(1) in the macros of man(7), made from what every command's --help prints.
std::string man_page();

// A text as --help prints it: paragraphs are filled, and what is indented stays as it is.
std::string man_text(std::string_view help);

}  // namespace pipewright::cli
