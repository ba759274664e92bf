#include "sim/cli/commands.hpp"

#include <array>

namespace pipewright::cli {

std::span<const Command> commands() {
  static constexpr std::array table{
      Command{.name = "run",
              .help = "simulate a scenario: table, trace, picture and page",
              .run = run_command},
      Command{
          .name = "show", .help = "the same table and pictures from a trace", .run = show_command},
      Command{.name = "schedule",
              .help = "list, draw, check and explain schedules, search for better ones",
              .run = schedule_command},
      Command{.name = "layout",
              .help = "show where a scenario's ranks are and how their groups talk",
              .run = layout_command},
      Command{.name = "platform", .help = "make, show and check clusters", .run = platform_command},
  };
  return table;
}

}  // namespace pipewright::cli
