#include "sim/cli/commands.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace pipewright::cli {
namespace {

constexpr std::array schedule_verbs{
    Command{.name = "list", .help = "the schedules there are", .run = list_schedules},
    Command{.name = "show", .help = "draws one, or writes it for PyTorch", .run = show_schedule},
    Command{.name = "check", .help = "judges a schedule file of PyTorch", .run = check_schedule},
    Command{.name = "explain", .help = "the steps from a building block", .run = explain_schedule},
    Command{.name = "search",
            .help = "finds the best for given times, latency and memory",
            .run = search_schedule},
    Command{.name = "frontier",
            .help = "what giving up memory costs: a search at every limit",
            .run = frontier_schedule},
};

constexpr std::array platform_verbs{
    Command{.name = "make",
            .help = "writes a cluster of any size as a SimGrid file",
            .run = make_platform_file},
    Command{.name = "import",
            .help = "writes one of NCCL's, ibnetdiscover's or Slurm's topology",
            .run = import_platform},
    Command{.name = "show",
            .help = "GPUs, links, bisection, and the route of a pair",
            .run = show_platform},
    Command{
        .name = "check", .help = "finds what a file says but hardly means", .run = check_platform},
};

constexpr std::array comm_verbs{
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
    Command{.name = "survey",
            .help = "what a failed link or switch costs, or a collision of hashes",
            .run = comm_survey},
};

constexpr std::array gpu_verbs{
    Command{
        .name = "fit", .help = "a GPU file from a table of measured kernels", .run = fit_gpu_file},
    Command{.name = "check",
            .help = "a GPU file against a table of measured kernels",
            .run = check_gpu},
};

void print_verbs(const Command& command) {
  fmt::print("usage: pipewright {} VERB [ARGUMENTS]\n\n{}", command.name, command.about);
  std::size_t width = 0;
  for (const Command& verb : command.verbs) width = std::max(width, verb.name.size());
  for (const Command& verb : command.verbs)
    fmt::print("  {:<{}}  {}\n", verb.name, width, verb.help);
  fmt::print("\n'pipewright {} VERB --help' explains a verb by example. A first try:\n{}",
             command.name, command.first_try);
}

}  // namespace

std::span<const Command> commands() {
  static constexpr std::array table{
      Command{.name = "run",
              .help = "simulate a scenario: table, trace, picture and page",
              .run = run_command},
      Command{.name = "import",
              .help = "a scenario from a script or configuration of Megatron-LM, torchtitan, ...",
              .run = import_command},
      Command{
          .name = "show", .help = "the same table and pictures from a trace", .run = show_command},
      Command{.name = "export",
              .help = "a trace for Perfetto, spreadsheets and other tools",
              .run = export_command},
      Command{.name = "compare",
              .help = "how runs differ: from each other, from what was measured",
              .run = compare_command},
      Command{.name = "profile",
              .help = "pass times for a scenario from a measured run",
              .run = profile_command},
      Command{.name = "why",
              .help = "why a run takes as long as it does, and what would help",
              .run = why_command},
      Command{.name = "serve",
              .help = "a page on which a scenario is changed, and its figures follow at once",
              .run = serve_command},
      Command{.name = "search",
              .help = "find the best layout, schedule and the like of many, with a proof",
              .run = search_command},
      Command{.name = "goodput",
              .help = "weeks of training: failures, checkpoints, spares, days and cost",
              .run = goodput_command},
      Command{.name = "schedule",
              .help = "list, draw, check and explain schedules, search for better ones",
              .verbs = schedule_verbs,
              .first_try =
                  "  pipewright schedule list -s 8 -b 32\n"
                  "  pipewright schedule show zb-v -s 4 -b 8\n"
                  "  pipewright schedule search -s 4 -b 12 -f 10 11 12 14 --input-grad-times 11 11 "
                  "12 15\n"
                  "      --weight-grad-times 7 8 8 10 --memory-limit 3 -o best.csv best.png\n"},
      Command{.name = "model",
              .help = "a model's parameters, FLOPs and bytes, and the kernels of a layer on a GPU",
              .run = model_command},
      Command{.name = "layout",
              .help = "show where a scenario's ranks are and how their groups talk",
              .run = layout_command},
      Command{
          .name = "platform",
          .help = "make, import, show and check clusters",
          .verbs = platform_verbs,
          .first_try =
              "  pipewright platform show dgx-h100\n"
              "  pipewright platform make --node dgx-h100 --nodes 64 --fabric rail -o mine.xml\n"
              "  pipewright platform check mine.xml\n"},
      Command{.name = "gpu",
              .help = "describe a GPU by kernels that were measured on it",
              .verbs = gpu_verbs,
              .first_try = "  pipewright gpu check my-gpu.csv --gpu-file h100-sxm\n"},
      Command{
          .name = "comm",
          .help = "what collectives cost on a cluster, against logs of nccl-tests",
          .verbs = comm_verbs,
          .about = "What communication costs on a cluster, and how far that is from what was "
                   "measured.\n\n",
          .first_try = "  pipewright comm bench --cluster dgx-a100 --op all-reduce --ranks 16\n"},
      Command{.name = "help",
              .help = "pages on a topic: first steps, scenarios, clusters, search, accuracy, ...",
              .run = help_command},
      Command{.name = "completion",
              .help = "what bash, zsh and fish need to complete commands, options and names",
              .run = completion_command},
  };
  return table;
}

int run_named(const Arguments& words) {
  for (const Command& command : commands())
    if (command.name == words.at(0)) return run(command, {words.begin() + 1, words.end()});
  throw UsageError(fmt::format("no command is called '{}'; see 'pipewright --help'", words[0]));
}

int run(const Command& command, const Arguments& arguments) {
  if (command.run != nullptr) return command.run(arguments);
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (word == "--help" || word == "-h") {
    print_verbs(command);
    return exit_ok;
  }
  std::string names;
  for (const Command& verb : command.verbs) {
    if (verb.name == word) return run(verb, {arguments.begin() + 1, arguments.end()});
    const bool last = &verb == &command.verbs.back();
    names += fmt::format("{}'{}'", names.empty() ? "" : last ? " or " : ", ", verb.name);
  }
  throw UsageError(fmt::format("{}: {}, not '{}'", command.name, names, word));
}

}  // namespace pipewright::cli
