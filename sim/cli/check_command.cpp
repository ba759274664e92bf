#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule_verbs.hpp"
#include "sim/workload/plan.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

using schedules::Receives;
using schedules::ReceiveTiming;
using schedules::ReceiveWait;
using schedules::Schedule;
using schedules::TorchFile;

po::options_description check_options() {
  po::options_description options("options of 'check'", 100);
  const auto words = [] {
    return po::value<std::vector<std::string>>()->multitoken()->value_name("X..");
  };
  auto add = options.add_options();
  add("legacy", "the file is of 2024: B is the input gradient, BW the full backward");
  add("forward-times,f", words(), "time of F: one, one per device, or one per stage (1 per stage)");
  add("input-grad-times", words(), "time of I, likewise (1)");
  add("weight-grad-times", words(), "time of W, likewise (1)");
  add("backward-times", words(), "or time of B, where nothing is split (2)");
  add("p2p-time", po::value<std::string>()->value_name("X"), "time of a transfer (0)");
  add("queue", po::value<std::string>()->default_value("rank")->value_name("rank|pair"),
      "receives that complete in order: all of a rank, or those from one rank to another");
  add("json", "print the findings as JSON and nothing else");
  return options;
}

std::optional<config::PassTimes> times_option(const po::variables_map& given, const char* option) {
  const std::vector<std::string> words = values(given, option);
  if (words.empty()) return std::nullopt;
  const config::Origin origin{.source = std::string("--") + option};
  const config::Value list = config::make_list(words, origin);
  return config::PassTimes{config::read_times({list, option}, "a pass time"), origin};
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

// What one order of receives costs.
struct Finding {
  std::string_view receives;
  ReceiveTiming ordered;
  double best = 0;  // makespan where each pass waits for its own tensor alone

  double lost() const { return ordered.makespan - best; }
};

std::vector<Finding> find(const TorchFile& file, const po::variables_map& given) {
  const schedules::PassTimes times = pass_times(given, file.schedule);
  double hop = 0;
  if (given.count("p2p-time") != 0) {
    const config::Value text =
        config::make_text(given["p2p-time"].as<std::string>(), {.source = "--p2p-time"});
    hop = config::read_time({text, "p2p-time"}, "a transfer's time");
  }
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
                   best};
  };
  if (file.form == schedules::TorchForm::compute_comms) return {judge("as in the file", file.rows)};
  return {judge("posted at the send", schedules::lower(file.schedule, Receives::at_send)),
          judge("posted before the pass", schedules::lower(file.schedule, Receives::before_pass))};
}

std::string_view name(schedules::TorchForm form) {
  return form == schedules::TorchForm::compute_only ? "compute_only" : "compute_comms";
}

std::vector<std::vector<std::uint32_t>> stages_by_rank(const Schedule& schedule) {
  std::vector<std::vector<std::uint32_t>> ranks(schedule.devices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    ranks[schedule.routes.device(stage, 0)].push_back(stage);
  return ranks;
}

void print_text(const std::string& path, const TorchFile& file,
                const std::vector<Finding>& findings) {
  const Schedule& schedule = file.schedule;
  fmt::print("{}: {}, {} ranks, {} stages ({} a rank), {} microbatches, {} passes\n", path,
             name(file.form), schedule.devices, schedule.stages(), schedule.chunks,
             schedule.microbatches, schedule.size());
  const auto ranks = stages_by_rank(schedule);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    fmt::print("rank {} holds stage{} {}\n", rank, ranks[rank].size() == 1 ? "" : "s",
               fmt::join(ranks[rank], " "));
  fmt::print(
      "sound: every stage runs every microbatch once and in order, and no rank waits for "
      "ever\n");
  constexpr std::size_t most_waits = 10;
  for (const Finding& finding : findings) {
    const std::vector<ReceiveWait>& waits = finding.ordered.waits;
    fmt::print(
        "receives {}: {:.6g} lost: makespan {:.6g}, and {:.6g} if each pass waited for its "
        "own tensor alone\n",
        finding.receives, finding.lost(), finding.ordered.makespan, finding.best);
    for (const ReceiveWait& wait : std::span(waits).first(std::min(waits.size(), most_waits))) {
      const std::string behind = to_string(wait.behind);
      fmt::print(
          "  rank {}, action {}: {} waits {:.6g} {} {}\n", wait.rank, wait.index + 1,
          to_string(wait.action), wait.seconds,
          wait.behind == *receive_for(wait.action, schedule.routes) ? "for its late" : "behind",
          behind);
    }
    if (waits.size() > most_waits)
      fmt::print("  and {} more such waits (--json lists them)\n", waits.size() - most_waits);
  }
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

std::string json(const ReceiveWait& wait) {
  return fmt::format(R"({{"rank": {}, "action": {}, "pass": "{}", "behind": "{}", "wait_s": {}}})",
                     wait.rank, wait.index + 1, to_string(wait.action), to_string(wait.behind),
                     wait.seconds);
}

std::string json(const Finding& finding) {
  std::vector<std::string> waits;
  for (const ReceiveWait& wait : finding.ordered.waits) waits.push_back(json(wait));
  return fmt::format(
      R"({{"receives": "{}", "makespan_s": {}, "best_makespan_s": {}, "lost_s": {}, "waits": [{}]}})",
      finding.receives, finding.ordered.makespan, finding.best, finding.lost(),
      fmt::join(waits, ", "));
}

void print_json(const std::string& path, const TorchFile& file,
                const std::vector<Finding>& findings) {
  const Schedule& schedule = file.schedule;
  std::vector<std::string> ranks;
  for (const auto& stages : stages_by_rank(schedule))
    ranks.push_back(fmt::format("[{}]", fmt::join(stages, ", ")));
  std::vector<std::string> orders;
  orders.reserve(findings.size());
  for (const Finding& finding : findings) orders.push_back(json(finding));
  fmt::print(R"({{"file": {}, "form": "{}", "ranks": {}, "stages": {}, "chunks": {}, )"
             R"("microbatches": {}, "passes": {}, "stages_of_rank": [{}], "sound": true, )"
             "\"orders\": [{}]}}\n",
             json_text(path), name(file.form), schedule.devices, schedule.stages(), schedule.chunks,
             schedule.microbatches, schedule.size(), fmt::join(ranks, ", "),
             fmt::join(orders, ", "));
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
      "F = I = W = 1 and B = 2 a stage unless given; collectives take no time. A file of passes "
      "alone is\n"
      "lowered as PyTorch does it, and with each receive just before its pass. Exit status 2 if "
      "unsound.\n"
      "\n{}",
      describe(check_options()));
  return exit_ok;
}

}  // namespace

int check_schedule(const Arguments& arguments) {
  po::options_description all = check_options();
  all.add_options()("help,h", "")("file", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "file");
  if (given.count("help") != 0) return print_help();
  const std::vector<std::string> files = values(given, "file");
  if (files.size() != 1) throw UsageError("schedule check: one schedule file of PyTorch (.csv)");
  const TorchFile file = workload::read_torch_file(files.front(), given.count("legacy") != 0);
  const std::vector<Finding> findings = find(file, given);
  if (given.count("json") != 0)
    print_json(files.front(), file, findings);
  else
    print_text(files.front(), file, findings);
  return exit_ok;
}

}  // namespace pipewright::cli
