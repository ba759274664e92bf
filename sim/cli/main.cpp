#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/version.hpp"

namespace {

using namespace pipewright::cli;

std::string usage() {
  std::string text =
      "pipewright predicts how pipeline-parallel training runs on a GPU cluster\n\n"
      "usage: pipewright COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<10} {}\n", command.name, command.help);
  text +=
      "\n'pipewright COMMAND --help' explains a command by example. A first try:\n"
      "  pipewright run -s 4 -b 8 -f 1 --backward-times 2 --schedule 1f1b gpipe -o first.html\n";
  return text;
}

int dispatch(const Arguments& words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", usage());
    return exit_user_error;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    fmt::print("{}", usage());
    return exit_ok;
  }
  if (words[0] == "--version") {
    fmt::print("{}\n", versions());
    return exit_ok;
  }
  for (const Command& command : commands())
    if (command.name == words[0]) return command.run({words.begin() + 1, words.end()});
  throw UsageError(fmt::format("no command is called '{}'; see 'pipewright --help'", words[0]));
}

int report(const char* what, int status) {
  fmt::print(stderr, "pipewright: {}\n", what);
  return status;
}

}  // namespace

int main(int count, char** words) {
  try {
    const int status = dispatch({words + 1, words + count});
    if (std::fflush(stdout) != 0) return report("standard output: cannot write", exit_user_error);
    return status;
  } catch (const Interrupted&) {
    return report("interrupted before the end", exit_interrupted);
  } catch (const std::runtime_error& error) {
    return report(error.what(), exit_user_error);
  } catch (const std::bad_alloc&) {
    return report("not enough memory for a run of this size", exit_user_error);
  } catch (const std::exception& error) {
    return report(fmt::format("internal error: {}; please report it", error.what()).c_str(),
                  exit_our_fault);
  }
}
