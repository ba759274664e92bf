#pragma once

#include <vector>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Splits a text that is a command line, such as the argument of bash -c, into words.
std::vector<Word> split_words(const Word& word);

}  // namespace pipewright::jobs
