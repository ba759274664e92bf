#pragma once

#include <string>
#include <string_view>
#include <vector>

// Values of the words of a command line, for completion in shells.
namespace pipewright::cli {

struct Candidate {
  std::string word;
  std::string help = {};  // one line; may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // whether names of files are allowed too
};

// Values of an option of `command` ("schedule show") with this name and this name of its value in
// the help; or of the words without an option, whose name is such as "scenario". Empty for values
// that no table lists, such as numbers.
Candidates values_of(std::string_view command, std::string_view name, std::string_view value_name);

// "KEY=" for every key of a scenario; once `word` contains the "=", "KEY=VALUE" for every value.
Candidates settings(std::string_view word);

}  // namespace pipewright::cli
