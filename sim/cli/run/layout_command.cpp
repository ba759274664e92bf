#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/run/layout_groups.hpp"
#include "sim/cli/run/layout_view.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::cli {
namespace {

po::options_description layout_options() {
  po::options_description options("options", 100);
  add_scenario_options(options, {OptionKind::pipeline, OptionKind::whole});
  options.add_options()("help,h", "this text");
  return options;
}

// "tp 8 x dp 128 x pp 16", the innermost first.
std::string sizes_text(const config::Parallel& parallel) {
  const std::array names{"tp", "cp", "ep", "dp", "pp"};
  const std::array sizes{parallel.tp.value, parallel.cp.value, std::uint32_t{1}, parallel.dp.value,
                         parallel.pp.value};
  std::vector<std::string> parts;
  for (const config::Axis axis : parallel.order)
    if (const auto i = static_cast<std::size_t>(axis); sizes[i] > 1)
      parts.push_back(fmt::format("{} {}", names[i], sizes[i]));
  if (parts.empty()) return "one GPU";
  std::string text = fmt::format("{}", fmt::join(parts, " x "));
  if (parallel.ep.value > 1)
    text += fmt::format(", experts over {} ranks of dp x cp", parallel.ep.value);
  return text;
}

}  // namespace

int layout_command(const Arguments& arguments) {
  po::options_description all = layout_options();
  all.add_options()("scenario", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "scenario");
  if (given.count("help") != 0) {
    fmt::print(
        "usage: pipewright layout SCENARIO [OPTIONS]\n\n"
        "Shows where the ranks of a scenario are: which GPUs hold which part of tp, cp, ep, dp "
        "and\n"
        "pp, over which links their groups talk, and how long a typical collective takes there\n"
        "when all groups of its kind are at it. Nothing else is simulated.\n\n"
        "  pipewright layout platforms/scenarios/gpt-6b-a100.yaml\n"
        "  pipewright layout llama.yaml --set parallel.order=tp-cp-ep-pp-dp\n\n{}",
        describe(layout_options()));
    return exit_ok;
  }
  const config::Scenario scenario = config::read_scenario(scenario_tree(given));
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  const execution::Places places(hardware.cluster, hardware.hosts);
  fmt::print("{} ranks on {}: {}\n\n{}", hardware.ranks.size(), hardware.cluster.name(),
             sizes_text(scenario.parallel),
             placement_table(scenario.parallel, hardware.ranks, places));
  const std::string groups =
      groups_table(scenario.parallel, !scenario.model || scenario.model->value.tied_embeddings,
                   scenario.communication, hardware.ranks, hardware.cluster, places);
  if (!groups.empty()) fmt::print("\n{}", groups);
  return exit_ok;
}

}  // namespace pipewright::cli
