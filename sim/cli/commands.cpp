#include "sim/cli/commands.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array schedule_verbs{
    Command{.name = "list", .help = "list all schedules", .run = list_schedules},
    Command{
        .name = "show", .help = "draw a schedule, or write it for PyTorch", .run = show_schedule},
    Command{.name = "check", .help = "check a schedule file of PyTorch", .run = check_schedule},
    Command{.name = "explain",
            .help = "derive a schedule from its building block",
            .run = explain_schedule},
    Command{.name = "search",
            .help = "find the best schedule for given times, latency and memory",
            .run = search_schedule},
    Command{.name = "frontier",
            .help = "trade memory for time: a search at every memory limit",
            .run = frontier_schedule},
};

constexpr std::array platform_verbs{
    Command{.name = "make",
            .help = "write a cluster of any size as a SimGrid file",
            .run = make_platform_file},
    Command{.name = "import",
            .help = "write a cluster from a topology of NCCL, ibnetdiscover or Slurm",
            .run = import_platform},
    Command{.name = "show",
            .help = "show GPUs, links, bisection, and the route of a pair",
            .run = show_platform},
    Command{
        .name = "check", .help = "find likely mistakes in a platform file", .run = check_platform},
};

constexpr std::array comm_verbs{
    Command{.name = "bench",
            .help = "print the table that nccl-tests would print on a cluster",
            .run = comm_bench},
    Command{.name = "compare",
            .help = "compare logs of nccl-tests or OSU with predictions",
            .run = comm_compare},
    Command{.name = "fit",
            .help = "fit network parameters to logs, as a new platform file",
            .run = comm_fit},
    Command{.name = "matrix",
            .help = "show bandwidth and latency of every pair, bisection, the worst permutation",
            .run = comm_matrix},
    Command{.name = "interference",
            .help = "measure how two kinds of traffic slow each other down",
            .run = comm_interference},
    Command{.name = "survey",
            .help = "show the cost of a failed link or switch, or of a hash collision",
            .run = comm_survey},
};

constexpr std::array gpu_verbs{
    Command{.name = "derive",
            .help = "make a GPU file from a data sheet and a measured GPU",
            .run = derive_gpu},
    Command{.name = "fit",
            .help = "make a GPU file from a table of measured kernels",
            .run = fit_gpu_file},
    Command{.name = "check",
            .help = "compare a GPU file with a table of measured kernels",
            .run = check_gpu},
};

constexpr std::array stack_verbs{
    Command{.name = "list", .help = "list the software stacks", .run = list_stacks},
    Command{
        .name = "show", .help = "show a software stack with what it inherits", .run = show_stack},
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
              .help = "turn a job of Megatron-LM, torchtitan, ... into a scenario",
              .run = import_command},
      Command{.name = "show",
              .help = "print the tables and draw the pictures of a trace",
              .run = show_command},
      Command{.name = "export",
              .help = "convert a trace for Perfetto, spreadsheets and other tools",
              .run = export_command},
      Command{.name = "compare",
              .help = "compare runs with each other or with measurements",
              .run = compare_command},
      Command{.name = "profile",
              .help = "take pass times for a scenario from a measured run",
              .run = profile_command},
      Command{.name = "why",
              .help = "explain the time of a run, and what would reduce it",
              .run = why_command},
      Command{.name = "serve",
              .help = "open a page that updates the figures as a scenario is edited",
              .run = serve_command},
      Command{.name = "search",
              .help = "find the best layout and schedule among many, and prove it is the best",
              .run = search_command},
      Command{.name = "goodput",
              .help = "predict the effective training time with failures, checkpoints and spares",
              .run = goodput_command},
      Command{.name = "rl",
              .help = "simulate reinforcement learning: generation, training, weights to engines",
              .run = rl_command},
      Command{
          .name = "sites",
          .help = "simulate training over several sites that average weights every few iterations",
          .run = sites_command},
      Command{.name = "schedule",
              .help = "list, draw, check, explain and search for schedules",
              .verbs = schedule_verbs,
              .first_try =
                  "  pipewright schedule list -s 8 -b 32\n"
                  "  pipewright schedule show zb-v -s 4 -b 8\n"
                  "  pipewright schedule search -s 4 -b 12 -f 10 11 12 14 --input-grad-times 11 11 "
                  "12 15\n"
                  "      --weight-grad-times 7 8 8 10 --memory-limit 3 -o best.csv best.png\n"},
      Command{.name = "model",
              .help = "show a model's parameters, FLOPs and bytes, and its kernels on a GPU",
              .run = model_command},
      Command{.name = "layout",
              .help = "show the placement of ranks and the links of their groups",
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
              .help = "describe a GPU by its data sheet or by measured kernels",
              .verbs = gpu_verbs,
              .first_try = "  pipewright gpu derive my-sheet.yaml --like b200 -o my-gpu.yaml\n"
                           "  pipewright gpu check my-gpu.csv --gpu-file h100-sxm\n"},
      Command{.name = "stack",
              .help = "list and show software stacks: Megatron-Core, torchtitan, ...",
              .verbs = stack_verbs,
              .first_try = "  pipewright stack list\n  pipewright stack show torchtitan\n"},
      Command{
          .name = "comm",
          .help = "predict collectives on a cluster, and compare with logs",
          .verbs = comm_verbs,
          .about = "Predicts communication on a cluster, and compares predictions with "
                   "measurements.\n\n",
          .first_try = "  pipewright comm bench --cluster dgx-a100 --op all-reduce --ranks 16\n"},
      Command{.name = "help",
              .help = "print a page on a topic: first steps, scenarios, clusters, search, ...",
              .run = help_command},
      Command{.name = "completion",
              .help = "print the completion script of bash, zsh or fish",
              .run = completion_command},
  };
  return table;
}

namespace {

std::string_view nearest_command(std::string_view word, std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  return config::nearest_name(word, names);
}

}  // namespace

int run_named(const Arguments& words) {
  for (const Command& command : commands())
    if (command.name == words.at(0)) return run(command, {words.begin() + 1, words.end()});
  throw UsageError(fmt::format("no command is called '{}'", words[0]))
      .suggest("see 'pipewright --help'")
      .suggest_name(words[0] == "-v" ? "--version" : nearest_command(words[0], commands()));
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
    const bool is_last = &verb == &command.verbs.back();
    names += fmt::format("{}'{}'", names.empty() ? "" : is_last ? " or " : ", ", verb.name);
  }
  throw UsageError(fmt::format("{} needs a verb: {}, not '{}'", command.name, names, word))
      .suggest_name(nearest_command(word, command.verbs));
}

}  // namespace pipewright::cli
