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

// A command runs by itself, or is a set of verbs, which are commands of their own.
struct Command {
  std::string_view name;
  std::string_view help;  // one line
  int (*run)(const Arguments& arguments) = nullptr;
  std::span<const Command> verbs = {};
  std::string_view about = {};      // what its verbs are for, if their names do not say it
  std::string_view first_try = {};  // of a verb
};
std::span<const Command> commands();

// Runs a command, or the one of its verbs that comes first, or prints the verbs' names if that is
// asked for. Throws UsageError for an unknown verb.
int run(const Command& command, const Arguments& arguments);
// The command that the first word names, with the others. Throws UsageError if none is called so.
int run_named(const Arguments& words);

// `pipewright --answer`: answers requests that come over the socket that standard input is, one at
// a time, until its other end is closed. For packages that run pipewright, such as Python's.
int answer_requests(const Arguments& arguments);

int run_command(const Arguments& arguments);         // pipewright run
int show_command(const Arguments& arguments);        // pipewright show
int export_command(const Arguments& arguments);      // pipewright export
int why_command(const Arguments& arguments);         // pipewright why
int search_command(const Arguments& arguments);      // pipewright search
int goodput_command(const Arguments& arguments);     // pipewright goodput
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

int fit_gpu_file(const Arguments& arguments);  // pipewright gpu fit
int check_gpu(const Arguments& arguments);     // pipewright gpu check

int comm_bench(const Arguments& arguments);         // pipewright comm bench
int comm_compare(const Arguments& arguments);       // pipewright comm compare
int comm_fit(const Arguments& arguments);           // pipewright comm fit
int comm_matrix(const Arguments& arguments);        // pipewright comm matrix
int comm_interference(const Arguments& arguments);  // pipewright comm interference
int comm_survey(const Arguments& arguments);        // pipewright comm survey

}  // namespace pipewright::cli
