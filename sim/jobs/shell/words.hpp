#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {

// Word as a shell passes it to a program. Values that only a running shell knows are marked as
// unknown: the name of a variable, or the text of a command, between two control characters.
struct Word {
  std::string text;
  config::Origin origin;
};
inline constexpr char unknown_begin = '\x01';
inline constexpr char unknown_end = '\x02';
inline constexpr char joined_line = '\x03';  // line break after a backslash

// First unknown in a text: "LAYERS" for a variable, "$(hostname)" for a command.
std::optional<std::string> unknown_in(std::string_view text);
// Text for messages, in which unknowns are shown with a dollar.
std::string readable(std::string_view text);

// Variable: one word, or the words of an array.
struct Variable {
  std::vector<Word> words;
  bool array = false;
  bool from_user = false;  // set on the command line; the script does not replace it
};

struct Script {
  std::map<std::string, Variable> variables;
  std::vector<std::vector<Word>> commands;  // commands that would run, in order
  std::vector<Word> documents;              // here-documents, expanded
  std::vector<Word> batch;                  // words of #SBATCH lines
  // Callback that returns the text of a sourced script by its path. May be empty; then no script is
  // sourced.
  std::function<std::optional<std::string>(const std::string&)> read_file;
  int depth = 0;                    // nesting of sourced scripts
  std::vector<std::string> unsure;  // locations of conditions with an unknown result
};

}  // namespace pipewright::jobs
