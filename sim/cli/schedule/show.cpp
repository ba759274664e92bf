#include <fmt/format.h>

#include "schedules/deadlock.hpp"
#include "schedules/text/picture.hpp"
#include "schedules/text/torch_check.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

po::options_description schedule_show_options() {
  po::options_description options("options of 'show'", 100);
  auto add = options.add_options();
  add("num-stages,s", one_word("N")->default_value("4"), "number of devices of the pipeline");
  add("num-batches,b", one_word("N")->default_value("8"), "number of microbatches of an iteration");
  add("iterations", one_word("N")->default_value("1"), "number of consecutive iterations");
  add_choices(options);
  add("format", po::value<std::string>()->default_value("text")->value_name("text|csv|comms"),
      "text: a picture; csv: PyTorch's compute-only schedule file; comms: its file with transfers");
  add("late-receives", "post each receive just before its pass, not when the sender sends (comms)");
  add("defer-receives",
      "post receives like PyTorch's defer_pp_recv: the lower of two ranks receives first (comms)");
  add("legacy", "read a .csv of 2024: B is the input gradient, BW the full backward");
  add("help,h", "print this help");
  return options;
}

schedules::Schedule load_named_schedule(const std::string& name, const po::variables_map& options) {
  const bool torch_file = config::schedule_source(name) == config::ScheduleSource::torch_file;
  // A schedule file of PyTorch determines the numbers of devices and microbatches; 0 leaves them to
  // it.
  const auto size = [&](const char* option) -> std::uint32_t {
    return torch_file && options[option].defaulted() ? 0 : read_count(options, option);
  };
  if (options.count("legacy") != 0) {
    if (!torch_file) throw UsageError(fmt::format("--legacy is for a .csv file, not '{}'", name));
    return workload::read_torch_file(name, true).schedule;
  }
  schedules::Parameters parameters{.devices = size("num-stages"),
                                   .microbatches = size("num-batches"),
                                   .iterations = read_count(options, "iterations")};
  read_choices(options, parameters);
  return workload::load_schedule(name, parameters);
}

schedules::Receives receives_of(const po::variables_map& options, const std::string& format) {
  const bool late = options.count("late-receives") != 0;
  const bool deferred = options.count("defer-receives") != 0;
  if ((late || deferred) && format != "comms")
    throw UsageError(
        fmt::format("--{} needs --format comms", late ? "late-receives" : "defer-receives"));
  if (late && deferred)
    throw UsageError("--late-receives excludes --defer-receives").suggest("give one of them");
  return late       ? schedules::Receives::before_pass
         : deferred ? schedules::Receives::deferred
                    : schedules::Receives::at_send;
}

// Checks the rows as 'schedule check' would: throws if ranks wait forever, as receives of a rank
// complete in order, and warns of tensors that NCCL would swap.
schedules::TorchRows check_receives(schedules::TorchRows rows,
                                    const schedules::Schedule& schedule) {
  schedules::PassTimes times;
  for (auto& of_stage : times.of_stage) of_stage.assign(schedule.stages(), 1);
  schedules::time_receives(rows, schedule, times, 0, schedules::ReceiveQueue::of_rank);
  if (const auto swap = schedules::first_swap(rows, schedule.routes))
    fmt::print(stderr, "pipewright: warning: {}: {}; gradients would be wrong\n", schedule.name,
               describe(*swap));
  return rows;
}

// Formats the schedule as text, csv or comms. Errors call it `name`, as the user wrote it, with the
// extension if it is a file.
std::string format_schedule(schedules::Schedule& schedule, std::string_view format,
                            schedules::Receives receives, const std::string& name) {
  if (format == "csv") return schedules::to_torch_csv(schedule);
  if (format == "text") {
    try {
      return schedules::draw_text(schedule);
    } catch (const schedules::Deadlock& deadlock) {
      schedule.name = name;
      throw schedules::Deadlock(schedule, deadlock.blocked());
    }
  }
  schedule.name = name;
  return schedules::to_torch_csv(check_receives(schedules::lower(schedule, receives), schedule));
}

int print_show_help() {
  fmt::print(
      "usage: pipewright schedule show NAME|FILE [OPTIONS]\n"
      "\n"
      "Draws a schedule of the catalog, of a building block (.yaml) or of PyTorch (.csv), or "
      "writes it\n"
      "for PyTorch.\n"
      "\n"
      "  pipewright schedule show interleaved-1f1b -s 4 -b 8 --chunks 2\n"
      "  pipewright schedule show 1f1b -s 8 -b 32 --format csv > 1f1b.csv\n"
      "  pipewright schedule show 1f1b.csv --format comms --late-receives\n"
      "\n{}",
      describe(schedule_show_options()));
  return exit_ok;
}

}  // namespace

int show_schedule(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, schedule_show_options(), "name");
  if (options.count("help") != 0) return print_show_help();
  const std::vector<std::string> names = values(options, "name");
  if (names.size() != 1)
    throw UsageError("schedule show takes the name or file of a schedule")
        .suggest("see 'pipewright schedule list'");
  const std::string format = options["format"].as<std::string>();
  if (format != "text" && format != "csv" && format != "comms")
    throw UsageError(fmt::format("--format is '{}'", format)).allow("text, csv, comms");
  const schedules::Receives receives = receives_of(options, format);

  schedules::Schedule schedule = load_named_schedule(names.front(), options);
  print_notes(evaluation::notes_of_files({names.front()}));
  fmt::print("{}", format_schedule(schedule, format, receives, names.front()));
  return exit_ok;
}

}  // namespace pipewright::cli
