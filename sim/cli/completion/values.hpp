#pragma once

#include <string>
#include <string_view>
#include <vector>

// Possible values of options and arguments, for completion in shells.
namespace pipewright::cli {

struct Candidate {
  std::string word;
  std::string help = {};  // one line; may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // whether names of files are allowed too
};

// Values that complete an option of `command` ("schedule show"), by the option's name and the
// placeholder of its value in the help. For words without an option, `name` is their common name,
// such as "scenario". Empty if no table lists the values, as for numbers.
Candidates values_of(std::string_view command, std::string_view name, std::string_view value_name);

// Completions of a word after --set: "KEY=" for every key of a scenario; once `word` contains the
// "=", "KEY=VALUE" for every value.
Candidates settings(std::string_view word);

}  // namespace pipewright::cli
