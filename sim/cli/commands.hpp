#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cli {

using Arguments = std::vector<std::string>;  // without the program's and the command's names

// A command line that says what no command understands.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Exit statuses. A user's fault is told in one message and leaves nothing half-written.
enum ExitStatus : int {
  exit_ok = 0,
  exit_findings = 1,  // of a check
  exit_user_error = 2,
  exit_does_not_fit = 3,  // of `run --require-fit`
  exit_our_fault = 70,
  exit_interrupted = 130
};

struct Command {
  std::string_view name;
  std::string_view help;  // one line
  int (*run)(const Arguments& arguments) = nullptr;
};
std::span<const Command> commands();

// Runs the one of a command's verbs that comes first, or prints the help that is asked for there.
int run_verb(std::string_view command, std::span<const Command> verbs, const Arguments& arguments,
             int (*print_help)());

int run_command(const Arguments& arguments);       // pipewright run
int show_command(const Arguments& arguments);      // pipewright show
int export_command(const Arguments& arguments);    // pipewright export
int why_command(const Arguments& arguments);       // pipewright why
int search_command(const Arguments& arguments);    // pipewright search
int schedule_command(const Arguments& arguments);  // pipewright schedule
int layout_command(const Arguments& arguments);    // pipewright layout
int compare_command(const Arguments& arguments);   // pipewright compare
int profile_command(const Arguments& arguments);   // pipewright profile
int platform_command(const Arguments& arguments);  // pipewright platform
int comm_command(const Arguments& arguments);      // pipewright comm
int help_command(const Arguments& arguments);      // pipewright help

}  // namespace pipewright::cli
