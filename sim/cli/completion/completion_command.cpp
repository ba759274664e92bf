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
  options.add_options()("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright completion bash|zsh|fish\n\n"
      "Prints what makes a shell complete commands, options, and the names of clusters, models,\n"
      "GPUs, schedules and keys. An installed program has it in the place where shells look;\n"
      "else, for this session or, in the file that it reads at its start, for all:\n\n"
      "  source <(pipewright completion bash)        # ~/.bashrc\n"
      "  source <(pipewright completion zsh)         # ~/.zshrc, after compinit\n"
      "  pipewright completion fish | source         # ~/.config/fish/config.fish\n\n"
      "{}",
      describe(completion_options()));
  return exit_ok;
}

// "word TAB help" a line; last ":files" where the names of files may stand as well.
void print(const Candidates& found) {
  for (const Candidate& one : found.words) {
    std::string help = one.help;
    std::ranges::replace(help, '\n', ' ');
    fmt::print("{}\t{}\n", one.word, help);
  }
  if (found.files) fmt::print(":files\n");
}

}  // namespace

int completion_command(const Arguments& arguments) {
  // What the scripts ask: --candidates -- WORD.., of which the last is not complete.
  if (arguments.size() > 1 && arguments[0] == "--candidates" && arguments[1] == "--") {
    print(candidates({arguments.begin() + 2, arguments.end()}));
    return exit_ok;
  }
  const po::variables_map given = parse(arguments, completion_options(), "shell");
  if (given.count("help") != 0) return print_help();
  const Arguments shells = values(given, "shell");
  const std::string_view script = shells.size() == 1
                                      ? completion_script(fmt::format("pipewright.{}", shells[0]))
                                      : std::string_view();
  if (script.empty()) throw UsageError("completion: of which shell? bash, zsh or fish");
  fmt::print("{}", script);
  return exit_ok;
}

}  // namespace pipewright::cli
