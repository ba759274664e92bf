#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Text that commands read or write. A text with unknowns holds output of commands that do not run.
struct Stream {
  std::string text;
  std::size_t at = 0;  // what `read` has taken
};

// State of a shell while it interprets a script.
class Shell {
 public:
  explicit Shell(Script& script_) : script(script_) {}

  Script& script;
  std::vector<Word> arguments;        // $1, $2, ...
  std::string file;                   // the file that is read
  std::string zero;                   // $0
  std::optional<bool> status = true;  // success of the last command; none if it is unknown
  int line = 0;                       // line of the command that runs

  // Runs the text of a command substitution, and returns what the command writes.
  std::function<std::string(std::string_view text, int line)> substitute;

  // Throws config::Error if the script takes too many steps or too much memory, with the line.
  void charge(std::size_t steps);

  const Variable* find(const std::string& name) const;
  // The variable to which an assignment writes; null if the command line has set it.
  Variable* to_write(const std::string& name);
  void assign(const std::string& name, Word word);
  void assign_array(const std::string& name, std::vector<Word> words);
  // Sets an element of an array, with the key of an associative array or a number.
  void assign_element(const std::string& name, const std::string& key, Word word);
  const Word* element(const Variable& variable, std::string_view key) const;
  // Words of an array, or the one word of another variable, in the order in which bash lists them.
  static std::vector<std::pair<std::string, Word>> elements(const Variable& variable);
  void unset(const std::string& name);

  // Local variables of a function: what the names were before.
  void enter() { scopes_.emplace_back(); }
  void leave();
  void make_local(const std::string& name);
  bool in_function() const { return !scopes_.empty(); }

  // Records a construct that is not followed, once for each location.
  void not_followed(std::string text, std::string why);
  config::Origin here() const { return {.source = file, .line = line, .column = 1}; }

  // Texts of the files that the script has written, by path below the script's folder.
  std::map<std::string, std::string> files = {};
  // Path of a file as a key of `files`; none for a path that only a running shell can compute.
  std::optional<std::string> path_of(const std::string& written) const;

  // Variable that an assignment sets: unset, it is nothing in its own value, as in A="$A more".
  std::string assigned;

  bool exports_all = false;  // set -a
  // Working folder below that of the script; none if only a running shell can compute the folder.
  std::optional<std::string> folder = "";

 private:
  std::vector<std::map<std::string, std::optional<Variable>>> scopes_;
  std::size_t steps_ = 0;
};

}  // namespace pipewright::jobs
