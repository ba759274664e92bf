#include <array>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/schedule/schedule_verbs.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::cli {
namespace {

constexpr std::array verbs{
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

int print_help() {
  fmt::print("usage: pipewright schedule VERB [ARGUMENTS]\n\n");
  for (const Command& verb : verbs) fmt::print("  {:<8}  {}\n", verb.name, verb.help);
  fmt::print(
      "\n'pipewright schedule VERB --help' explains a verb by example. A first try:\n"
      "  pipewright schedule list -s 8 -b 32\n"
      "  pipewright schedule show zb-v -s 4 -b 8\n"
      "  pipewright schedule search -s 4 -b 12 -f 10 11 12 14 --input-grad-times 11 11 12 15\n"
      "      --weight-grad-times 7 8 8 10 --memory-limit 3 -o best.csv best.png\n");
  return exit_ok;
}

std::string option_of(const schedules::ChoiceInfo& info) {
  return std::string(info.flag.substr(2));
}

}  // namespace

void add_choices(po::options_description& options) {
  for (const schedules::ChoiceInfo& info : schedules::choices)
    options.add_options()(option_of(info).c_str(), po::value<std::string>()->value_name("N"),
                          std::string(info.help).c_str());
}

void read_choices(const po::variables_map& given, schedules::Parameters& parameters) {
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    const std::string option = option_of(info);
    if (given.count(option) == 0) continue;
    const config::Value value = config::make_text(given[option].as<std::string>(), {});
    parameters.*info.choice = config::read_count({value, std::string(info.flag)}, "8");
  }
}

int schedule_command(const Arguments& arguments) {
  return run_verb("schedule", verbs, arguments, print_help);
}

}  // namespace pipewright::cli
