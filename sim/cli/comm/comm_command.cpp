#include <array>

#include <fmt/format.h>

#include "sim/cli/comm/comm_verbs.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array verbs{
    Command{.name = "bench",
            .help = "the table that nccl-tests would print on a cluster",
            .run = comm_bench},
    Command{.name = "compare",
            .help = "logs of nccl-tests or OSU against predictions",
            .run = comm_compare},
    Command{.name = "fit",
            .help = "the network's parameters from logs, as a new platform file",
            .run = comm_fit},
    Command{.name = "matrix",
            .help = "bandwidth and latency of every pair, bisection, the worst permutation",
            .run = comm_matrix},
    Command{.name = "interference",
            .help = "what two kinds of traffic at once do to each other",
            .run = comm_interference},
};

int print_help() {
  fmt::print(
      "usage: pipewright comm VERB [ARGUMENTS]\n\nWhat communication costs on a cluster, and how "
      "far that is from what was measured.\n\n");
  for (const Command& verb : verbs) fmt::print("  {:<12}  {}\n", verb.name, verb.help);
  fmt::print(
      "\n'pipewright comm VERB --help' explains a verb by example. A first try:\n"
      "  pipewright comm bench --cluster dgx-a100 --op all-reduce --ranks 16\n");
  return exit_ok;
}

}  // namespace

int comm_command(const Arguments& arguments) {
  return run_verb("comm", verbs, arguments, print_help);
}

}  // namespace pipewright::cli
