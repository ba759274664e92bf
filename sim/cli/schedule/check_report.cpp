#include "sim/cli/schedule/check_report.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/units_text.hpp"
#include "schedules/text/counted.hpp"
#include "schedules/text/torch_lowering.hpp"

namespace pipewright::cli {
namespace {

using schedules::counted;
using schedules::ReceiveWait;
using schedules::Schedule;
using Json = nlohmann::ordered_json;

std::string_view name(schedules::TorchForm form) {
  return form == schedules::TorchForm::compute_only ? "compute_only" : "compute_comms";
}

std::vector<std::vector<std::uint32_t>> stages_by_rank(const Schedule& schedule) {
  std::vector<std::vector<std::uint32_t>> ranks(schedule.devices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    ranks[schedule.routes.device(stage, 0)].push_back(stage);
  return ranks;
}

std::string time_text(double time, TimeUnit unit) {
  if (unit == TimeUnit::second) return analysis::format_seconds(time);
  return fmt::format("{:.6g} {}", time, time == 1 ? "cell" : "cells");
}

std::string warning(const schedules::Swap& swap) {
  return fmt::format(
      "; warning: NCCL would swap tensors: receive {0} of rank {1} from rank {2} is {3} (action "
      "{4}), and send {0} of rank {2} to rank {1} is {5} (action {6})",
      swap.turn + 1, swap.receiver, swap.sender, to_string(swap.receive), swap.receive_index + 1,
      to_string(swap.send), swap.send_index + 1);
}

void print(const Json& json) {
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

Json json(const Finding& finding) {
  Json waits = Json::array();
  for (const ReceiveWait& wait : finding.ordered.waits) waits.push_back(json(wait));
  return {{"receives", finding.receives},  {"makespan", finding.ordered.makespan},
          {"best_makespan", finding.best}, {"lost", finding.lost()},
          {"swap", json(finding.swap)},    {"waits", std::move(waits)}};
}

}  // namespace

void print_text(const CheckReport& report) {
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
      "sound: every stage runs every microbatch once and in order, and no rank waits for "
      "ever\n");
  if (report.unit == TimeUnit::cell)
    fmt::print("times in units, as none are given: F = I = W = 1 cell a stage, B = 2 cells\n");
  constexpr std::size_t most_waits = 10;
  const auto shown = [&](double time) { return time_text(time, report.unit); };
  for (const Finding& finding : report.findings) {
    const std::vector<ReceiveWait>& waits = finding.ordered.waits;
    fmt::print(
        "receives {}: {} lost: makespan {}, and {} if each pass waited for its own tensor alone"
        "{}\n",
        finding.receives, shown(finding.lost()), shown(finding.ordered.makespan),
        shown(finding.best), finding.swap ? warning(*finding.swap) : "");
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

void print_json(const CheckReport& report) {
  const Schedule& schedule = report.file.schedule;
  Json orders = Json::array();
  for (const Finding& finding : report.findings) orders.push_back(json(finding));
  print({{"file", report.path},
         {"form", name(report.file.form)},
         {"ranks", schedule.devices},
         {"stages", schedule.stages()},
         {"chunks", schedule.chunks},
         {"microbatches", schedule.microbatches},
         {"passes", schedule.size()},
         {"stages_of_rank", stages_by_rank(schedule)},
         {"sound", true},
         {"time_unit", report.unit == TimeUnit::cell ? "cell" : "s"},
         {"orders", std::move(orders)}});
}

void print_unsound_json(const std::string& path, std::string_view why) {
  print({{"file", path}, {"sound", false}, {"why", why}});
}

}  // namespace pipewright::cli
