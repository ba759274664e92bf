#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule/check_report.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

using schedules::Receives;
using schedules::Schedule;
using schedules::TorchFile;

po::options_description check_options() {
  po::options_description options("options of 'check'", 100);
  auto add = options.add_options();
  add("legacy", "the file is of 2024: B is the input gradient, BW the full backward");
  add("forward-times,f", several_words("X.."),
      "time of F: one, one per device, or one per stage (1 per stage)");
  add("input-grad-times", several_words("X.."), "time of I, likewise (1)");
  add("weight-grad-times", several_words("X.."), "time of W, likewise (1)");
  add("backward-times", several_words("X.."), "or time of B, where nothing is split (2)");
  add("p2p-time", one_word("X"), "time of a transfer (0)");
  add("queue", po::value<std::string>()->default_value("rank")->value_name("rank|pair"),
      "receives that complete in order: all of a rank, or those from one rank to another");
  add("json", "print the findings as JSON and nothing else");
  return options;
}

std::optional<config::PassTimes> times_option(const po::variables_map& given, const char* option) {
  const std::vector<std::string> words = values(given, option);
  if (words.empty()) return std::nullopt;
  const std::string flag = std::string("--") + option;
  const config::Value list =
      words.size() == 1 ? config::make_text(words.front(), {}) : config::make_list(words, {});
  return config::PassTimes{config::read_times({list, flag}, "a pass time"), {.source = flag}};
}

schedules::PassTimes pass_times(const po::variables_map& given, const Schedule& schedule) {
  const config::PassTimes unit{std::vector<double>(schedule.stages(), 1.0), {}};
  config::Scenario scenario;
  scenario.forward_times = times_option(given, "forward-times").value_or(unit);
  scenario.backward_times = times_option(given, "backward-times");
  const auto input = times_option(given, "input-grad-times");
  const auto weight = times_option(given, "weight-grad-times");
  if (scenario.backward_times && (input || weight))
    throw UsageError("--backward-times, or --input-grad-times and --weight-grad-times, not both");
  scenario.input_grad_times = input.value_or(unit);
  scenario.weight_grad_times = weight.value_or(unit);
  return workload::pass_times(scenario, schedule);
}

TimeUnit unit_of(const po::variables_map& given) {
  for (const char* option :
       {"forward-times", "input-grad-times", "weight-grad-times", "backward-times"})
    if (given.count(option) != 0) return TimeUnit::second;
  return TimeUnit::cell;
}

double hop_time(const po::variables_map& given) {
  if (given.count("p2p-time") == 0) return 0;
  const std::string text = given["p2p-time"].as<std::string>();
  const double hop =
      config::read_time({config::make_text(text, {}), "--p2p-time"}, "a transfer's time");
  if (unit_of(given) == TimeUnit::cell && text.find_first_of("nmus") != std::string::npos)
    throw UsageError(
        fmt::format("--p2p-time is {}, and no times of passes are given, so that it counts cells; "
                    "give a number alone, or --forward-times and so on too",
                    text));
  return hop;
}

std::vector<Finding> find(const TorchFile& file, const po::variables_map& given) {
  const schedules::PassTimes times = pass_times(given, file.schedule);
  const double hop = hop_time(given);
  const std::string queue = given["queue"].as<std::string>();
  if (queue != "rank" && queue != "pair")
    throw UsageError(fmt::format("--queue is '{}'; there are rank and pair", queue));
  const auto judge = [&](std::string_view receives, const schedules::TorchRows& rows) {
    const auto timed = [&](schedules::ReceiveQueue order) {
      return schedules::time_receives(rows, file.schedule, times, hop, order);
    };
    const double best = timed(schedules::ReceiveQueue::none).makespan;
    return Finding{receives,
                   timed(queue == "pair" ? schedules::ReceiveQueue::of_pair
                                         : schedules::ReceiveQueue::of_rank),
                   best, schedules::first_swap(rows, file.schedule.routes)};
  };
  if (file.form == schedules::TorchForm::compute_comms) return {judge("as in the file", file.rows)};
  return {judge("posted at the send", schedules::lower(file.schedule, Receives::at_send)),
          judge("posted before the pass", schedules::lower(file.schedule, Receives::before_pass))};
}

CheckReport judge(const std::string& path, const po::variables_map& given) {
  CheckReport report{.path = path,
                     .file = workload::read_torch_file(path, given.count("legacy") != 0),
                     .unit = unit_of(given),
                     .findings = {}};
  report.file.schedule.name = path;  // in messages
  schedules::check_pair_order(report.file.rows, report.file.schedule.routes, path);
  report.findings = find(report.file, given);
  return report;
}

int print_help() {
  fmt::print(
      "usage: pipewright schedule check FILE.csv [OPTIONS]\n"
      "\n"
      "Reads a schedule file of PyTorch, says what is wrong with it, by row and column, and then "
      "what\n"
      "PyTorch does not see: ranks that wait for one another for ever, and what the order of "
      "receives\n"
      "costs.\n"
      "\n"
      "  pipewright schedule check 1f1b.csv --p2p-time 0.1\n"
      "\n"
      "Its model: a rank posts sends and receives as it comes to them and goes on; a transfer "
      "takes\n"
      "--p2p-time from when both ends are posted; receives of one queue complete in the order "
      "posted;\n"
      "collectives take no time. F = I = W = 1 and B = 2 cells a stage, where no times are given; "
      "else\n"
      "so many seconds, where one is not. Transfers must match in order, as NCCL's do. A file of\n"
      "passes alone is lowered as PyTorch does it, and with each receive just before its pass.\n"
      "Exit status 2 if unsound.\n"
      "\n{}",
      describe(check_options()));
  return exit_ok;
}

}  // namespace

int check_schedule(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, check_options(), "file");
  if (given.count("help") != 0) return print_help();
  const std::vector<std::string> files = values(given, "file");
  if (files.size() != 1) throw UsageError("schedule check: one schedule file of PyTorch (.csv)");
  const bool json = given.count("json") != 0;
  try {
    const CheckReport report = judge(files.front(), given);
    if (json)
      print_json(report);
    else
      print_text(report);
    return exit_ok;
  } catch (const workload::CannotRead&) {
    throw;
  } catch (const schedules::Error& unsound) {
    if (!json) throw;
    print_unsound_json(files.front(), unsound.what());
    return exit_user_error;
  }
}

}  // namespace pipewright::cli
