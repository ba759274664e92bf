#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/jobs/shell/state.hpp"
#include "sim/jobs/shell/syntax.hpp"

namespace pipewright::jobs {

// Runs the syntax tree of a script: records the programs that would start, with their words, and
// starts none. What it cannot follow becomes an entry of Script::unfollowed.
class Evaluator {
 public:
  Evaluator(Script& script, std::string file);

  void run_file(std::string_view text);

 private:
  // Way in which a command ends, beside the normal one.
  enum class Flow : std::uint8_t { normal, breaks, continues, returns, exits };
  using Words = std::vector<Word>;
  using Texts = std::vector<std::string>;
  class Redirected;  // input and output of a command while it runs
  class Inner;       // a subshell: restores variables and functions

  // Commands of the tree (evaluator.cpp).
  void run(const Node& node);
  void run_here(const Node& node);
  void run_list(const Node& list);
  void run_pipeline(const Node& pipeline);
  void run_branch(const Node& branch);
  void run_for_words(const Node& loop);
  void run_for_numbers(const Node& loop);
  void run_loop(const Node& loop);
  void run_choice(const Node& choice);
  void run_subshell(const Node& body);
  // Runs the body of a loop; false if the loop ends.
  bool run_round(const Node& body, std::size_t& rounds);
  bool condition_holds(const Node& condition, std::initializer_list<const Node*> bodies);
  // Notes that a part of the script depends on something unknown, if the part may matter.
  void note(std::initializer_list<const Node*> bodies, const std::string& text,
            const std::string& why);
  std::string substitute(std::string_view text, int line);

  // Simple commands (simple.cpp).
  void run_simple(const Node& node);
  void dispatch(const Node& node, Words& words);
  bool run_function(const Words& words);
  void record(const Words& words);

  // Assignments (assign.cpp).
  void assign(const Assignment& assignment);
  void assign_value(const Assignment& assignment, const config::Origin& origin);
  void assign_for(const Node& node,
                  std::vector<std::pair<std::string, std::optional<Variable>>>& old);
  void note_key(const std::string& array);

  // Scripts and shells that a command starts (scripts.cpp).
  bool run_inner_shell(const Words& words);
  bool run_inner_script(const Words& words);
  bool run_input(const Words& words);
  void run_text(std::string_view text, int line);
  // Runs `text` as a shell of its own does, which sees exported variables alone.
  void run_child(std::string_view text, std::string file, int line, const Words& prefix,
                 std::string zero, Words arguments);
  void source(const Words& words);
  std::optional<std::string> path_of_script(const std::string& written) const;
  // File of a script, with its text: one that the script wrote, or one beside the script.
  struct Found {
    std::string file;
    std::string text;
  };
  std::optional<Found> find_script(const std::string& written) const;

  // Commands that are part of the shell (builtins.cpp). False for names that are none.
  bool run_builtin(const std::string& name, const Node& node, const Words& words,
                   const Texts& texts);
  bool run_control(const std::string& name, const Texts& texts);
  void set_arguments(const Words& words);
  void change_folder(const Texts& texts);

  // export, declare and their relatives (declare.cpp).
  void declare(const Node& node, const std::string& name);
  void declare_word(const std::string& word, const std::string& options);
  void apply_options(const std::string& name, const std::string& options, bool has_value);

  // Commands that read or format texts (input.cpp).
  void read_line(const Texts& texts);
  void map_file(const Texts& texts);
  void print_formatted(const Words& words, const Texts& texts);
  void get_option(const Texts& texts);
  std::optional<std::string> next_line();

  void write(std::string_view text);

  Shell shell_;
  std::string start_;              // the file that runs first
  std::string* output_ = nullptr;  // null: the terminal
  Stream* input_ = nullptr;        // null: the terminal
  Flow flow_ = Flow::normal;
  int levels_ = 0;        // number of loops that a break or continue leaves
  int depth_ = 0;         // depth of nested commands
  int files_ = 0;         // depth of sourced scripts and inner shells
  int inner_ = 0;         // depth of subshells
  bool foreign_ = false;  // output of a program that does not run was written
  std::size_t getopts_at_ = 0;
  Words prefix_;  // words of the program that starts this shell: srun bash -c
};

// Names of all variables that the commands of a tree set.
void add_written(const Node& node, std::set<std::string, std::less<>>& names);

// True if a command may change what the training command receives: assignments, sourced scripts and
// the like, but not echo or mkdir.
bool may_matter(const Node& node);

// Input and output of a command by its redirections, while the command runs.
class Evaluator::Redirected {
 public:
  Redirected(Evaluator& evaluator, const Node& node);
  ~Redirected();
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  void open(const Redirection& redirection);
  void open_input(const RawWord& target);
  void close_output();

  Evaluator& evaluator_;
  Stream* input_;
  std::string* output_;
  Stream own_input_;
  std::string sink_;
  std::optional<std::string> path_;  // file that the output goes to
  bool appends_ = false;
};

// A subshell: what it does to variables, functions and arguments is undone at its end.
class Evaluator::Inner {
 public:
  explicit Inner(Evaluator& evaluator);
  ~Inner();
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Evaluator& evaluator_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, std::shared_ptr<const Node>> functions_;
  std::vector<Word> arguments_;
  std::optional<std::string> folder_;
};

}  // namespace pipewright::jobs
