#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"
#include "schedules/text/counted.hpp"
#include "schedules/text/torch_check.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule/recognise.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

using analysis::Json;
using schedules::counted;
using schedules::Receives;
using schedules::ReceiveWait;
using schedules::Schedule;
using schedules::TorchFile;

// Time of the schedule if receives are posted in one order, and the time without waiting for other
// receives.
struct ReceiveCost {
  std::string_view receives;
  schedules::ReceiveTiming ordered;
  double best = 0;                      // makespan if each pass waits only for its own tensor
  std::optional<schedules::Swap> swap;  // tensors that NCCL would swap

  double lost() const { return ordered.makespan - best; }
};

// Unit of times: seconds or, if no times of passes are given, cells of the schedule file. F, I and
// W take one cell, and B takes two.
enum class TimeUnit { cell, second };

struct CheckReport {
  std::string path;
  schedules::TorchFile file;
  TimeUnit unit = TimeUnit::cell;
  std::vector<ReceiveCost> costs;
};

po::options_description schedule_check_options() {
  po::options_description options("options of 'check'", 100);
  auto add = options.add_options();
  add("legacy", "read a file of 2024, in which B is the input gradient and BW the full backward");
  add("forward-times,f", several_words("X.."),
      "time of a forward pass (F): one value, one per device, or one per stage (1 per stage)");
  add("input-grad-times", several_words("X.."), "time of an input-gradient pass (I), likewise (1)");
  add("weight-grad-times", several_words("X.."),
      "time of a weight-gradient pass (W), likewise (1)");
  add("backward-times", several_words("X.."),
      "time of a full backward pass (B), if backward "
      "passes are not split (2)");
  add("p2p-time", one_word("X"), "time of a transfer (0)");
  add("queue", po::value<std::string>()->default_value("rank")->value_name("rank|pair"),
      "receives that complete in order: all receives of a rank, or only those from the same rank");
  add("json", "print only JSON");
  return options;
}

std::optional<config::PassTimes> times_option(const po::variables_map& options,
                                              const char* option) {
  const std::vector<std::string> words = values(options, option);
  if (words.empty()) return std::nullopt;
  const std::string flag = std::string("--") + option;
  const config::Value list =
      words.size() == 1 ? config::make_text(words.front(), {}) : config::make_list(words, {});
  return config::PassTimes{config::read_times({list, flag}, "a pass time"), {.source = flag}};
}

schedules::PassTimes pass_times(const po::variables_map& options, const Schedule& schedule) {
  const config::PassTimes unit{std::vector<double>(schedule.stages(), 1.0), {}};
  config::Scenario scenario;
  scenario.forward_times = times_option(options, "forward-times").value_or(unit);
  scenario.backward_times = times_option(options, "backward-times");
  const auto input = times_option(options, "input-grad-times");
  const auto weight = times_option(options, "weight-grad-times");
  if (scenario.backward_times && (input || weight))
    throw UsageError("--backward-times excludes --input-grad-times and --weight-grad-times")
        .suggest("give one or the other");
  scenario.input_grad_times = input.value_or(unit);
  scenario.weight_grad_times = weight.value_or(unit);
  return workload::pass_times(scenario, schedule);
}

TimeUnit unit_of(const po::variables_map& options) {
  for (const char* option :
       {"forward-times", "input-grad-times", "weight-grad-times", "backward-times"})
    if (options.count(option) != 0) return TimeUnit::second;
  return TimeUnit::cell;
}

double hop_time(const po::variables_map& options) {
  if (options.count("p2p-time") == 0) return 0;
  const std::string text = options["p2p-time"].as<std::string>();
  const double hop =
      config::read_time({config::make_text(text, {}), "--p2p-time"}, "a transfer's time");
  if (unit_of(options) == TimeUnit::cell && text.find_first_of("nmus") != std::string::npos)
    throw UsageError(
        fmt::format("--p2p-time is {}, but without times of passes it counts cells", text))
        .suggest("give a number without a unit, or add --forward-times and the other times");
  return hop;
}

std::vector<ReceiveCost> find_receive_costs(const TorchFile& file,
                                            const po::variables_map& options) {
  const schedules::PassTimes times = pass_times(options, file.schedule);
  const double hop = hop_time(options);
  const std::string queue = options["queue"].as<std::string>();
  if (queue != "rank" && queue != "pair")
    throw UsageError(fmt::format("--queue is '{}'", queue)).allow("rank, pair");
  const auto judge = [&](std::string_view receives, const schedules::TorchRows& rows) {
    const auto timed = [&](schedules::ReceiveQueue order) {
      return schedules::time_receives(rows, file.schedule, times, hop, order);
    };
    const double best = timed(schedules::ReceiveQueue::none).makespan;
    return ReceiveCost{receives,
                       timed(queue == "pair" ? schedules::ReceiveQueue::of_pair
                                             : schedules::ReceiveQueue::of_rank),
                       best, schedules::first_swap(rows, file.schedule.routes)};
  };
  if (file.form == schedules::TorchForm::compute_comms) return {judge("as in the file", file.rows)};
  return {
      judge("posted at the send", schedules::lower(file.schedule, Receives::at_send)),
      judge("posted before the pass", schedules::lower(file.schedule, Receives::before_pass)),
      judge("deferred as by defer_pp_recv", schedules::lower(file.schedule, Receives::deferred))};
}

CheckReport judge(const std::string& path, const po::variables_map& options) {
  CheckReport report{.path = path,
                     .file = workload::read_torch_file(path, options.count("legacy") != 0),
                     .unit = unit_of(options),
                     .costs = {}};
  report.file.schedule.name = path;  // in messages
  schedules::check_pair_order(report.file.rows, report.file.schedule.routes, path);
  report.costs = find_receive_costs(report.file, options);
  return report;
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

std::string receive_time_text(double time, TimeUnit unit) {
  if (unit == TimeUnit::second) return analysis::format_seconds(time);
  return fmt::format("{:.6g} {}", time, time == 1 ? "cell" : "cells");
}

void print_document(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json json(const ReceiveWait& wait) {
  return {{"rank", wait.rank},
          {"action", wait.index + 1},
          {"pass", to_string(wait.action)},
          {"behind", to_string(wait.behind)},
          {"wait", wait.seconds}};
}

Json json(const std::optional<schedules::Swap>& swap) {
  if (!swap) return nullptr;
  return {{"sender", swap->sender},
          {"send_action", swap->send_index + 1},
          {"send", to_string(swap->send)},
          {"receiver", swap->receiver},
          {"receive_action", swap->receive_index + 1},
          {"receive", to_string(swap->receive)}};
}

Json json(const ReceiveCost& cost) {
  Json waits = Json::array();
  for (const ReceiveWait& wait : cost.ordered.waits) waits.push_back(json(wait));
  return {{"receives", cost.receives},  {"makespan", cost.ordered.makespan},
          {"best_makespan", cost.best}, {"lost", cost.lost()},
          {"swap", json(cost.swap)},    {"waits", std::move(waits)}};
}

void print_check_text(const CheckReport& report) {
  const Schedule& schedule = report.file.schedule;
  fmt::print("{}: {}, {}, {} ({} a rank), {}, {}\n", report.path, name(report.file.form),
             counted(schedule.devices, "rank", "ranks"),
             counted(schedule.stages(), "stage", "stages"), schedule.chunks,
             schedules::counted_microbatches(schedule.microbatches),
             counted(schedule.size(), "pass", "passes"));
  const auto ranks = stages_by_rank(schedule);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    fmt::print("rank {} holds stage{} {}\n", rank, ranks[rank].size() == 1 ? "" : "s",
               fmt::join(ranks[rank], " "));
  fmt::print(
      "sound: every stage runs every microbatch once and in order, and no rank waits "
      "forever\n");
  for (const std::string& note : notes_on(schedule)) fmt::print("{}\n", note);
  if (report.unit == TimeUnit::cell)
    fmt::print("times are in cells: F = I = W = 1 cell of a stage, B = 2 cells\n");
  constexpr std::size_t most_waits = 10;
  const auto shown = [&](double time) { return receive_time_text(time, report.unit); };
  for (const ReceiveCost& cost : report.costs) {
    const std::vector<ReceiveWait>& waits = cost.ordered.waits;
    fmt::print(
        "receives {}: {} lost: makespan {}; {} if each pass waited only for its own tensor"
        "{}\n",
        cost.receives, shown(cost.lost()), shown(cost.ordered.makespan), shown(cost.best),
        cost.swap ? "; warning: " + describe(*cost.swap) : "");
    for (const ReceiveWait& wait : std::span(waits).first(std::min(waits.size(), most_waits))) {
      const std::string behind = to_string(wait.behind);
      fmt::print(
          "  rank {}, action {}: {} waits {} {} {}\n", wait.rank, wait.index + 1,
          to_string(wait.action), shown(wait.seconds),
          wait.behind == *receive_for(wait.action, schedule.routes) ? "for its late" : "behind",
          behind);
    }
    if (waits.size() > most_waits)
      fmt::print("  and {} more such waits (--json lists them)\n", waits.size() - most_waits);
  }
}

void print_check_json(const CheckReport& report) {
  const Schedule& schedule = report.file.schedule;
  Json orders = Json::array();
  for (const ReceiveCost& cost : report.costs) orders.push_back(json(cost));
  print_document({{"file", report.path},
                  {"form", name(report.file.form)},
                  {"ranks", schedule.devices},
                  {"stages", schedule.stages()},
                  {"chunks", schedule.chunks},
                  {"microbatches", schedule.microbatches},
                  {"passes", schedule.size()},
                  {"stages_of_rank", stages_by_rank(schedule)},
                  {"sound", true},
                  {"notes", notes_on(schedule)},
                  {"time_unit", report.unit == TimeUnit::cell ? "cell" : "s"},
                  {"orders", std::move(orders)}});
}

// Location of a fault: a cell of a rank's row, or the positions of the ranks that wait forever.
Json position_of(const schedules::Error& unsound) {
  Json place;
  if (const auto* located = dynamic_cast<const schedules::LocatedError*>(&unsound)) {
    place["rank"] = located->position.row;
    place["cell"] = located->position.column + 1;
  } else if (const auto* deadlock = dynamic_cast<const schedules::ReceiveDeadlock*>(&unsound)) {
    for (const schedules::BlockedRank& rank : deadlock->blocked())
      place["blocked"].push_back(
          {{"rank", rank.rank}, {"action", rank.index + 1}, {"pass", to_string(rank.action)}});
  }
  return place;
}

void print_unsound_json(const std::string& path, const schedules::Error& unsound) {
  Json json{{"file", path}, {"sound", false}, {"why", unsound.what()}};
  if (const Json place = position_of(unsound); !place.is_null()) json.update(place);
  print_document(json);
}

int print_schedule_check_help() {
  fmt::print(
      "usage: pipewright schedule check FILE.csv [OPTIONS]\n"
      "\n"
      "Checks a schedule file of PyTorch. Errors are located by row and column. The check also "
      "finds what\n"
      "PyTorch does not detect: ranks that wait for each other forever, and the cost of the order "
      "of\n"
      "receives.\n"
      "\n"
      "  pipewright schedule check 1f1b.csv --p2p-time 0.1\n"
      "\n"
      "The model: a rank posts sends and receives in its order and does not wait for them; a "
      "transfer\n"
      "takes --p2p-time after both ends are posted; receives of a queue complete in the order "
      "posted;\n"
      "collectives take no time. Without times of passes, F = I = W = 1 and B = 2 cells of a "
      "stage; with\n"
      "any of them, times are in seconds. Transfers must match in order, as in NCCL. A file "
      "without\n"
      "transfers is lowered in three ways: as PyTorch does, with each receive just before its "
      "pass, "
      "and\n"
      "as PyTorch's defer_pp_recv does.\n"
      "The exit status is 2 if the schedule is unsound.\n"
      "\n{}",
      describe(schedule_check_options()));
  return exit_ok;
}

}  // namespace

int check_schedule(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, schedule_check_options(), "file");
  if (options.count("help") != 0) return print_schedule_check_help();
  const std::vector<std::string> files = values(options, "file");
  if (files.size() != 1)
    throw UsageError("schedule check takes one schedule file of PyTorch (.csv)");
  const bool is_json = options.count("json") != 0;
  try {
    const CheckReport report = judge(files.front(), options);
    if (is_json)
      print_check_json(report);
    else
      print_check_text(report);
    return exit_ok;
  } catch (const workload::CannotRead&) {
    throw;
  } catch (const schedules::Error& unsound) {
    if (!is_json) throw;
    print_unsound_json(files.front(), unsound);
    return exit_user_error;
  }
}

}  // namespace pipewright::cli
