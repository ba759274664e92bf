#pragma once

#include <string>
#include <string_view>
#include <vector>

// What may stand for the words of a command line, for shells that complete them.
namespace pipewright::cli {

struct Candidate {
  std::string word;
  std::string help = {};  // one line; may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // the names of files may stand there as well
};

// What may stand for an option of `command` ("schedule show"), which is called `name` and whose
// help calls the value `value_name`; or for the words without an option, as "scenario". Of what no
// table knows, as of numbers, there is nothing.
Candidates values_of(std::string_view command, std::string_view name, std::string_view value_name);

// "KEY=" for every key of a scenario, and once `word` has the "=", "KEY=VALUE" for what it takes.
Candidates settings(std::string_view word);

}  // namespace pipewright::cli
