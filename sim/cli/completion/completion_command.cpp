#include <algorithm>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/completion/candidates.hpp"
#include "sim/cli/completion/scripts.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {
namespace {

po::options_description completion_options() {
  po::options_description options("options", 100);
  options.add_options()("help,h", "print this help");
  return options;
}

int print_completion_help() {
  fmt::print(
      "usage: pipewright completion bash|zsh|fish\n\n"
      "Prints the script by which a shell completes commands, options, and the names of clusters,\n"
      "models, GPUs, schedules and keys. An installation puts it where shells look for it.\n"
      "Otherwise run one of these lines in a session, or put it into the shell's start file:\n\n"
      "  source <(pipewright completion bash)        # ~/.bashrc\n"
      "  source <(pipewright completion zsh)         # ~/.zshrc, after compinit\n"
      "  pipewright completion fish | source         # ~/.config/fish/config.fish\n\n"
      "{}",
      describe(completion_options()));
  return exit_ok;
}

// Prints a line "word TAB help" for each candidate, and ":files" if names of files are allowed too.
void print(const Candidates& completions) {
  for (const Candidate& candidate : completions.words) {
    std::string help = candidate.help;
    std::ranges::replace(help, '\n', ' ');
    fmt::print("{}\t{}\n", candidate.word, help);
  }
  if (completions.files) fmt::print(":files\n");
}

}  // namespace

int completion_command(const Arguments& arguments) {
  // The completion scripts call `--candidates -- WORD..`; the last word is the one to complete.
  if (arguments.size() > 1 && arguments[0] == "--candidates" && arguments[1] == "--") {
    print(candidates({arguments.begin() + 2, arguments.end()}));
    return exit_ok;
  }
  const po::variables_map flags = parse(arguments, completion_options(), "shell");
  if (flags.count("help") != 0) return print_completion_help();
  const Arguments shells = values(flags, "shell");
  const std::string_view script = shells.size() == 1
                                      ? completion_script(fmt::format("pipewright.{}", shells[0]))
                                      : std::string_view();
  if (script.empty()) throw UsageError("completion needs a shell").allow("bash, zsh, fish");
  fmt::print("{}", script);
  return exit_ok;
}

}  // namespace pipewright::cli
