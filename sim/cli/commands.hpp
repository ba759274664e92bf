#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/text/error.hpp"

namespace pipewright::cli {

using Arguments = std::vector<std::string>;  // without the names of program and command

// Error for a wrong command line: an unknown command or option, or a value that is not allowed.
struct UsageError : config::ErrorOf<UsageError> {
  using ErrorOf::ErrorOf;
};

// Error for an option that a command does not have. key() is the option as written.
struct UnknownOption : UsageError {
  UnknownOption(std::string_view text, std::string_view option, std::vector<std::string> known)
      : UsageError({}, text, option), options(std::move(known)) {
    suggest("see --help");
  }
  std::vector<std::string> options;  // options of the command, without dashes
};

// Exit statuses. A user's error is reported in one message and leaves no incomplete files.
enum ExitStatus : int {
  exit_ok = 0,
  exit_findings = 1,  // a check has findings
  exit_user_error = 2,
  exit_does_not_fit = 3,  // `run --require-fit`: the model does not fit
  exit_our_fault = 70,
  exit_interrupted = 130
};

// A command that runs, such as `run`, or a group of commands, such as `schedule`. The commands of a
// group are called verbs: `list` in `schedule list`.
struct Command {
  std::string_view name;
  std::string_view help;  // one line
  int (*run)(const Arguments& arguments) = nullptr;
  std::span<const Command> verbs = {};
  std::string_view about = {};      // purpose of the verbs, if their names do not tell
  std::string_view first_try = {};  // example of a verb
};
std::span<const Command> commands();

// Runs a command, or the verb that the first argument names; --help lists the verbs of a group.
// Throws UsageError for an unknown verb.
int run(const Command& command, const Arguments& arguments);
// Runs the command that the first word names, with the other words as its arguments. Throws
// UsageError for an unknown name.
int run_named(const Arguments& words);

// `pipewright --answer`: answers requests from a socket on standard input, one at a time, until the
// peer closes it. Serves packages that run pipewright, such as the Python package.
int answer_requests(const Arguments& arguments);

int run_command(const Arguments& arguments);         // pipewright run
int show_command(const Arguments& arguments);        // pipewright show
int export_command(const Arguments& arguments);      // pipewright export
int why_command(const Arguments& arguments);         // pipewright why
int search_command(const Arguments& arguments);      // pipewright search
int goodput_command(const Arguments& arguments);     // pipewright goodput
int rl_command(const Arguments& arguments);          // pipewright rl
int sites_command(const Arguments& arguments);       // pipewright sites
int serve_command(const Arguments& arguments);       // pipewright serve
int import_command(const Arguments& arguments);      // pipewright import
int layout_command(const Arguments& arguments);      // pipewright layout
int compare_command(const Arguments& arguments);     // pipewright compare
int profile_command(const Arguments& arguments);     // pipewright profile
int model_command(const Arguments& arguments);       // pipewright model
int help_command(const Arguments& arguments);        // pipewright help
int completion_command(const Arguments& arguments);  // pipewright completion

int list_schedules(const Arguments& arguments);     // pipewright schedule list
int show_schedule(const Arguments& arguments);      // pipewright schedule show
int check_schedule(const Arguments& arguments);     // pipewright schedule check
int explain_schedule(const Arguments& arguments);   // pipewright schedule explain
int search_schedule(const Arguments& arguments);    // pipewright schedule search
int frontier_schedule(const Arguments& arguments);  // pipewright schedule frontier

int make_platform_file(const Arguments& arguments);  // pipewright platform make
int import_platform(const Arguments& arguments);     // pipewright platform import
int show_platform(const Arguments& arguments);       // pipewright platform show
int check_platform(const Arguments& arguments);      // pipewright platform check

int derive_gpu(const Arguments& arguments);    // pipewright gpu derive
int fit_gpu_file(const Arguments& arguments);  // pipewright gpu fit
int check_gpu(const Arguments& arguments);     // pipewright gpu check

int list_stacks(const Arguments& arguments);  // pipewright stack list
int show_stack(const Arguments& arguments);   // pipewright stack show

int comm_bench(const Arguments& arguments);         // pipewright comm bench
int comm_compare(const Arguments& arguments);       // pipewright comm compare
int comm_fit(const Arguments& arguments);           // pipewright comm fit
int comm_matrix(const Arguments& arguments);        // pipewright comm matrix
int comm_interference(const Arguments& arguments);  // pipewright comm interference
int comm_survey(const Arguments& arguments);        // pipewright comm survey

}  // namespace pipewright::cli
