#include "sim/cli/commands.hpp"

#include <array>

#include <fmt/format.h>

namespace pipewright::cli {

std::span<const Command> commands() {
  static constexpr std::array table{
      Command{.name = "run",
              .help = "simulate a scenario: table, trace, picture and page",
              .run = run_command},
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
      Command{.name = "search",
              .help = "find the best layout, schedule and the like of many, with a proof",
              .run = search_command},
      Command{.name = "schedule",
              .help = "list, draw, check and explain schedules, search for better ones",
              .run = schedule_command},
      Command{.name = "layout",
              .help = "show where a scenario's ranks are and how their groups talk",
              .run = layout_command},
      Command{.name = "platform", .help = "make, show and check clusters", .run = platform_command},
      Command{.name = "comm",
              .help = "what collectives cost on a cluster, against logs of nccl-tests",
              .run = comm_command},
      Command{.name = "help",
              .help = "pages on a topic: first steps, scenarios, clusters, search, accuracy, ...",
              .run = help_command},
  };
  return table;
}

int run_verb(std::string_view command, std::span<const Command> verbs, const Arguments& arguments,
             int (*print_help)()) {
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (word == "--help" || word == "-h") return print_help();
  std::string names;
  for (const Command& verb : verbs) {
    if (verb.name == word) return verb.run({arguments.begin() + 1, arguments.end()});
    const bool last = &verb == &verbs.back();
    names += fmt::format("{}'{}'", names.empty() ? "" : last ? " or " : ", ", verb.name);
  }
  throw UsageError(fmt::format("{}: {}, not '{}'", command, names, word));
}

}  // namespace pipewright::cli
