#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace {

using namespace pipewright::cli;

std::string usage() {
  std::string text =
      "pipewright predicts pipeline- and hybrid-parallel training on GPU clusters\n\n"
      "usage: pipewright COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<10} {}\n", command.name, command.help);
  text +=
      "\n'pipewright COMMAND --help' explains a command by example. To start with:\n"
      "  pipewright run -s 4 -b 8 -f 1 --backward-times 2 --schedule 1f1b gpipe -o first.html\n";
  return text;
}

int dispatch(const Arguments& words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", usage());
    return exit_user_error;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    fmt::print("{}", usage());
    return exit_ok;
  }
  if (words[0] == "--version") {
    fmt::print("{}\n", pipewright::evaluation::versions());
    return exit_ok;
  }
  if (words[0] == "--answer") return answer_requests({words.begin() + 1, words.end()});
  return run_named(words);
}

}  // namespace

int main(int count, char** words) {
  return guarded("pipewright", [&] { return dispatch({words + 1, words + count}); });
}
