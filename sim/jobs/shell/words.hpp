#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {

// A word as the shell would hand it to a program. What only a running shell knows stands in it as
// an unknown: between these two characters, by the name of the variable or the text of the command.
struct Word {
  std::string text;
  config::Origin origin;
};
inline constexpr char unknown_begin = '\x01';
inline constexpr char unknown_end = '\x02';
inline constexpr char joined_line = '\x03';  // a line break that a backslash took away

// The first unknown of a text: "LAYERS", "$(hostname)".
std::optional<std::string> unknown_in(std::string_view text);
// The text as a user reads it: unknowns by their dollar.
std::string readable(std::string_view text);

// A variable: one text, or several of an array.
struct Variable {
  std::vector<Word> words;
  bool array = false;
  bool given = false;  // from outside: what the script says does not replace it
};

struct Script {
  std::map<std::string, Variable> variables;
  std::vector<std::vector<Word>> commands;  // that would be run, in their order
  std::vector<Word> documents;              // here-documents, with variables put in
  std::vector<Word> batch;                  // words of #SBATCH lines
  // The text of another script by its path, for `source`; may be empty.
  std::function<std::optional<std::string>(const std::string&)> read_file;
  int depth = 0;                    // of scripts that others read
  std::vector<std::string> unsure;  // conditions that only a running shell can tell
};

}  // namespace pipewright::jobs
