#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {

// Word as a shell passes it to a program. Values that only a running shell can compute are marked
// as unknown: the name of a variable, or the text of a command, between two control characters.
struct Word {
  std::string text;
  config::Origin origin;
  // The word is an unset variable without quotes, which a shell drops.
  bool may_vanish = false;
};
inline constexpr char unknown_begin = '\x01';
inline constexpr char unknown_end = '\x02';

// Marks of lines within a text, which have no width. A line break after a backslash is joined_line.
// After line_begin follow the digits of the line on which the next part was written, and line_end.
inline constexpr char joined_line = '\x03';
inline constexpr char line_begin = '\x04';
inline constexpr char line_end = '\x05';
std::string line_mark(int line);
// Reads a mark of either kind at `at`: moves `at` behind the mark, and updates `line`. False if
// there is no mark.
bool skip_mark(std::string_view text, std::size_t& at, int& line);
// Text without marks of lines.
std::string without_marks(std::string_view text);

// Unknown with a name or command, as it stands in a text.
std::string unknown(std::string_view name);
// Length of the unknown at the start of a text.
std::size_t unknown_length(std::string_view text);
// First unknown in a text: "LAYERS" for a variable, "$(hostname)" for a command.
std::optional<std::string> unknown_in(std::string_view text);
// True if a text has the output of a command, or a variable that every running shell sets, such as
// HOME. Other unknowns are variables that are not set.
bool has_running_value(std::string_view text);
// True for variables that every running shell sets.
bool is_of_running_shell(std::string_view name);
// Text in which variables that are not set expand to nothing.
std::string without_unset(std::string_view text);
// Text for messages, in which unknowns are shown with a dollar.
std::string readable(std::string_view text);
// Text of a word as a command sees it: without marks, and with unset variables as nothing.
std::string plain_text(const Word& word);

bool is_variable_name(std::string_view text);

// Variable: one word, or the words of an array.
struct Variable {
  std::vector<Word> words;
  bool array = false;
  bool from_user = false;              // set on the command line; the script does not replace it
  bool exported = false;               // programs and other shells that the script starts see it
  bool associative = false;            // declared by declare -A
  std::vector<std::string> keys = {};  // keys of the words of an associative or sparse array
};

struct Node;  // command of a script, see syntax.hpp

// Construct that is not followed.
struct Unfollowed {
  std::string text;  // "if nvidia-smi -L"
  std::string why;   // clause: the reason, and what is done instead
  config::Origin origin;
};

struct Script {
  std::map<std::string, Variable> variables;
  std::vector<std::vector<Word>> commands;  // commands that would run, in order
  // Variables of single commands by the command's index, as in NAME=1 program.
  std::map<std::size_t, std::vector<std::pair<std::string, Word>>> environments = {};
  std::vector<Word> documents;  // here-documents, expanded
  std::vector<Word> batch;      // words of #SBATCH lines
  // Variables that Slurm sets by the #SBATCH lines.
  std::vector<std::pair<std::string, std::string>> batch_variables = {};
  // Callback that returns the text of a sourced script by its path. If it is empty, no script is
  // sourced.
  std::function<std::optional<std::string>(const std::string&)> read_file;
  std::vector<Unfollowed> unfollowed = {};
  std::optional<config::Origin> ended_at = {};  // the exit at which the script ends
  std::map<std::string, std::shared_ptr<const Node>> functions = {};
  std::set<std::string, std::less<>> written = {};  // variables that the scripts set anywhere
};

}  // namespace pipewright::jobs
