#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/words.hpp"

// Interpreter of the shell features that training scripts need: variables, arrays, defaults,
// arithmetic and simple conditions. It runs no commands.
namespace pipewright::jobs {

// Interprets a script after those that `script` already holds, with their variables. Throws
// config::Error for bytes that are not text.
void read_script(std::string_view text, const std::string& name, Script& script);

// Splits a text that is a command line, such as the argument of bash -c, into words.
std::vector<Word> split_words(const Word& word);

}  // namespace pipewright::jobs
