#include <fmt/format.h>

#include "analysis/report/rl/rl_report.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/schedule_options.hpp"
#include "sim/config/post_training.hpp"
#include "sim/config/scenario.hpp"
#include "sim/rl/setting.hpp"
#include "sim/rl/study.hpp"

namespace pipewright::cli {
namespace {

po::options_description rl_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("split", several_words("N"),
      "divide N GPUs between training and generation in up to 12 ways, by the replicas of the "
      "training");
  add("json", "print the result as JSON and nothing else");
  add("quiet,q", "no notes");
  add_scenario_options(options);
  add_schedule_options(options);
  add("help,h", "print this help");
  return options;
}

int print_rl_help() {
  fmt::print(
      "usage: pipewright rl SCENARIO [OPTIONS]\n"
      "\n"
      "Simulates reinforcement learning of a language model: engines generate responses, the\n"
      "trainer computes log-probabilities and updates the weights, and the engines get the new\n"
      "weights. Prints the time of a step, how long each pool of GPUs is idle, and what a longer\n"
      "tail of responses, more engines or a faster transfer of weights would change. The scenario\n"
      "describes the training; its map `rl` describes the rest.\n"
      "\n"
      "  pipewright rl grpo.yaml\n"
      "  pipewright rl grpo.yaml --set rl.mode=one-off rl.rollout.gpus=16\n"
      "  pipewright rl grpo.yaml --set rl.mode=async rl.lag=4 --split 64\n"
      "  pipewright rl grpo.yaml --set rl.lengths.p95=8000 --json\n"
      "\n{}\nkeys of the map `rl` of a scenario (* required in its section):\n",
      describe(rl_options()));
  for (const config::KeyRow& key : config::post_training_keys())
    fmt::print("  {:<26} {}{}\n", key.name, help_line(key), key.info.required ? " *" : "");
  return exit_ok;
}

}  // namespace

int rl_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, rl_options(), "scenario");
  if (options.count("help") != 0) return print_rl_help();
  const bool is_json = options.count("json") != 0;
  const bool is_quiet = is_json || options.count("quiet") != 0;
  const config::Scenario scenario = rl::read_loop_scenario(scheduled_tree(options));
  const config::PostTraining post = rl::post_training_of(scenario);
  watch_for_interrupts(interrupt_grace);
  const rl::Setting setting = rl::make_setting(scenario, post);
  if (!is_quiet) print_notes(setting.notes);
  analysis::RlReport report = rl::study(setting);
  if (options.count("split") != 0) {
    const config::Value gpus =
        config::make_text(single(values(options, "split"), "--split"), {.source = "--split"});
    ProgressBar bar("rl", !is_quiet);
    report.splits =
        rl::splits(scenario, post, config::read_count({gpus, "split"}, "64"), [&](double share) {
          throw_if_interrupted();
          if (bar.is_due()) bar.draw(share, "divisions");
        });
  }
  fmt::print("{}", is_json ? analysis::rl_json(report) : analysis::rl_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
