#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/rl/rl_picture.hpp"
#include "analysis/report/rl/rl_report.hpp"
#include "analysis/trace/partial_file.hpp"
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
  add("output,o", several_words("FILE..")->composing(),
      "write .html (page), .svg, .png or .pdf (what each pool of GPUs does), or .json");
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
      "  pipewright rl grpo.yaml -o rl.html rl.png\n"
      "  pipewright rl grpo.yaml --set rl.mode=one-off rl.rollout.gpus=16\n"
      "  pipewright rl grpo.yaml --set rl.mode=async rl.lag=4 --split 64\n"
      "  pipewright rl grpo.yaml --set rl.lengths.p95=8000 --json\n"
      "\n{}\n{}",
      describe(rl_options()), describe_section("rl", config::post_training_keys()));
  return exit_ok;
}

constexpr double rl_picture_width = 760;  // in points

std::vector<Output> read_rl_outputs(const po::variables_map& options) {
  std::vector<std::filesystem::path> files;
  for (const std::string& file : values(options, "output")) files.emplace_back(file);
  std::vector<Output> outputs = parse_outputs(files);
  for (const Output& output : outputs)
    if (output.kind == OutputKind::csv)
      throw UsageError(fmt::format("{}: a loop has no table of this kind", output.file.string()))
          .allow(".html (page), .svg, .png, .pdf (picture), .json");
  std::vector<std::filesystem::path> read;
  if (const auto file = scenario_file(options)) read.push_back(*file);
  check_files(read, files);
  return outputs;
}

void write_rl_output(const Output& output, const analysis::RlReport& report) {
  if (output.kind == OutputKind::json)
    return trace::write_file(output.file, analysis::rl_json(report));
  if (output.kind == OutputKind::html) return analysis::write_rl_page(output.file, report);
  trace::write_file(output.file,
                    analysis::rl_picture(report, rl_picture_width, picture_kind(output)));
}

}  // namespace

int rl_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, rl_options(), "scenario");
  if (options.count("help") != 0) return print_rl_help();
  const bool is_json = options.count("json") != 0;
  const bool is_quiet = is_json || options.count("quiet") != 0;
  const std::vector<Output> outputs = read_rl_outputs(options);
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
  OutputFiles files;
  for (const Output& output : outputs)
    files.write(output.file, [&] { write_rl_output(output, report); });
  if (!is_json) files.print_written();
  return files.status(exit_ok);
}

}  // namespace pipewright::cli
