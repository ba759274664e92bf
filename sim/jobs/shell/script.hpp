#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/words.hpp"

// Scripts of a shell, as far as what starts a training needs them: variables, arrays, defaults,
// arithmetic and simple conditions. Nothing is run.
namespace pipewright::jobs {

// Reads a script after what earlier ones set. Throws config::Error for what is no text of a shell.
void read_script(std::string_view text, const std::string& name, Script& script);

// The words of a text that is itself a command line, as of bash -c.
std::vector<Word> split_words(const Word& word);

}  // namespace pipewright::jobs
