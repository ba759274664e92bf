#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/state.hpp"

// Parameter expansions: $NAME, ${NAME[key]:-default} and their relatives.
namespace pipewright::jobs {

// Parsed content of ${..}.
struct Reference {
  std::string name;
  std::optional<std::string> index;  // as written: "@", "*", "0", "$i"
  bool counts = false;               // ${#NAME}
  bool indirect = false;             // ${!NAME}
  std::string rest;                  // ":-8"
};
Reference reference_of(std::string_view inside);

// Words of a parameter. `whole`: each word is of its own, as in $@ and ${NAME[@]}.
struct Values {
  std::vector<Word> words;
  bool set = false;
  bool whole = false;
  bool starred = false;    // "$*" joins the words
  bool arguments = false;  // the arguments of the shell or of a function
};

// Operator that needs no other expansion than that of its operands, which are plain texts:
// #, ##, %, %%, /, //, ^, ^^, comma, @Q. None if the operator is not known.
std::optional<std::string> transformed(const std::string& value, std::string_view sign,
                                       const std::string& pattern, const std::string& with);

}  // namespace pipewright::jobs
