#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/measured/compare/pass_times.hpp"
#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/measured/formats.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "schedules/text/torch_csv.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/trace/calibrate.hpp"
#include "sim/cli/trace/measured.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cli {
namespace {

// Measured times of one kind of pass, in the order of that list in a scenario.
struct TimeList {
  std::string key;                    // "forward_times"
  std::vector<double> seconds;        // medians
  std::vector<std::string> comments;  // number of passes, and range of their times
};

using analysis::PassTime;
using trace::PassKind;

const PassTime* find(const std::vector<PassTime>& times, std::uint32_t stage, PassKind kind) {
  const auto match = std::ranges::find_if(
      times, [&](const PassTime& time) { return time.stage == stage && time.kind == kind; });
  return match == times.end() ? nullptr : &*match;
}

// Stages in the order in which a scenario lists their times: by device or, if devices have several
// stages, by stage.
std::vector<std::uint32_t> stages_in_order(const trace::Trace& trace) {
  std::vector<std::uint32_t> stages;
  std::vector<trace::StageRow> rows = trace.stages;
  if (trace.run.chunks == 1)
    std::ranges::stable_sort(rows, {}, &trace::StageRow::device);
  else
    std::ranges::stable_sort(rows, {}, &trace::StageRow::stage);
  for (const trace::StageRow& row : rows)
    if (std::ranges::find(stages, row.stage) == stages.end()) stages.push_back(row.stage);
  return stages;
}

// Lists of a scenario: one time for each device, or for each stage if devices have several. A run
// with full and with split backward passes has lists for both: a stage with full passes alone gets
// half of their time for each half, and a stage with halves alone gets their sum for the full pass.
// Throws trace::TraceError if a stage lacks a kind of pass.
std::vector<TimeList> time_lists(const trace::Trace& trace, const std::vector<PassTime>& times) {
  const auto has = [&](PassKind kind) {
    return std::ranges::any_of(times, [&](const PassTime& time) { return time.kind == kind; });
  };
  const bool has_halves = has(PassKind::input_grad) || has(PassKind::weight_grad);
  const std::vector<std::uint32_t> stages = stages_in_order(trace);
  const auto list = [&](const char* key, PassKind kind) {
    TimeList result{.key = key, .seconds = {}, .comments = {}};
    for (const std::uint32_t stage : stages) {
      const PassTime* time = find(times, stage, kind);
      const PassTime* const input = find(times, stage, PassKind::input_grad);
      const PassTime* const weight = find(times, stage, PassKind::weight_grad);
      const bool is_known = time != nullptr && !time->only_in_pairs;
      if (!is_known && kind == PassKind::backward && input != nullptr && weight != nullptr) {
        result.seconds.push_back(input->median + weight->median);
        result.comments.push_back(fmt::format("stage {}: I + W", stage));
        continue;
      }
      const bool is_halved = time == nullptr && has_halves && kind != PassKind::forward;
      if (is_halved) time = find(times, stage, PassKind::backward);
      if (time == nullptr)
        throw trace::TraceError(
            fmt::format("stage {} has no pass of kind {}", stage, analysis::pass_letter(kind)));
      result.seconds.push_back(time->median / (is_halved ? 2 : 1));
      result.comments.push_back(fmt::format("stage {}: {} passes, {} to {}{}", stage, time->passes,
                                            analysis::format_seconds(time->least),
                                            analysis::format_seconds(time->most),
                                            is_halved ? ", full backwards" : ""));
    }
    return result;
  };
  std::vector<TimeList> lists{list("forward_times", PassKind::forward)};
  if (has_halves) {
    lists.push_back(list("input_grad_times", PassKind::input_grad));
    lists.push_back(list("weight_grad_times", PassKind::weight_grad));
  }
  if (!has_halves || has(PassKind::backward))
    lists.push_back(list("backward_times", PassKind::backward));
  return lists;
}

// Formats a time exactly to the picosecond: "18.5 ms".
std::string time_text(double seconds) {
  std::string text = fmt::format("{:.9f}", seconds * 1e3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " ms";
}

std::string yaml_text(const TimeList& list) {
  std::string text = list.key + ":\n";
  for (std::size_t i = 0; i < list.seconds.size(); ++i)
    text += fmt::format("  - {}  # {}\n", time_text(list.seconds[i]), list.comments[i]);
  return text;
}

using std::filesystem::path;

po::options_description profile_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  const auto file = one_word;
  add("into", file("SCENARIO.yaml"), "print this scenario with the measured times");
  add("order", file("FILE.csv"), "write the order of passes as a schedule file of PyTorch");
  add("trace", file("FILE.h5"), "write the measured run as a trace for 'show'");
  add("calibrate", file("SCENARIO.yaml"),
      "compare the kernels with the model of this scenario; needs --gpu-file");
  add("gpu-file", file("OUT.yaml"),
      "write the scenario's GPU, with the clock from --calibrate, to this file");
  add_measured_options(options);
  add("help,h", "print this help");
  return options;
}

int print_profile_help() {
  fmt::print(
      "usage: pipewright profile MEASURED.json.. [OPTIONS] > times.yaml\n"
      "\n"
      "Reads measured passes of PyTorch's profiler, Primus (pp_rank_N.json) or a Chrome file of\n"
      "'pipewright export', with one file for each pipeline device or one file for all. Prints a\n"
      "scenario: devices, microbatches, schedule, and the median times of the passes of each "
      "stage.\n"
      "\n"
      "  pipewright profile 'profile/rank{{rank}}.json.gz' --skip 2 > times.yaml\n"
      "  pipewright run times.yaml --p2p-time '0.2 ms' --schedule 1f1b zb-h1\n"
      "  pipewright profile measured.json --into gpt.yaml > calibrated.yaml\n"
      "  pipewright profile measured.json --order order.csv --trace measured.h5 > times.yaml\n"
      "  pipewright profile 'profile/rank{{rank}}.json.gz' --calibrate gpt.yaml --gpu-file "
      "my.yaml\n"
      "  pipewright run larger.yaml --gpu my.yaml\n"
      "\n"
      "Passes are recognised by the names of PyTorch (PP:2F0, Forward 0) and Megatron-LM "
      "(forward_step),\n"
      "or by --pattern, a regular expression with the named groups kind, stage, microbatch and "
      "device.\n"
      "A pass lasts as long as the kernels that were launched in it.\n\n{}",
      describe(profile_options()));
  return exit_ok;
}

std::string counted(std::uint32_t count, const char* singular, const char* plural) {
  return fmt::format("{} {}", count, count == 1 ? singular : plural);
}

// The line "schedule: ..." of the printed scenario; its comment says whether the measured order is
// in the catalogue.
std::string schedule_text(const trace::Trace& trace, const std::string& order_file) {
  if (!order_file.empty()) return "schedule: " + config::to_yaml(config::make_text(order_file, {}));
  const std::uint32_t chunks = trace.run.chunks;
  const schedules::Entry* const entry = catalog_entry(trace);
  const std::string_view name = entry != nullptr ? entry->name
                                : chunks > 1     ? "interleaved-1f1b"
                                                 : "1f1b";
  const char* const comment = entry != nullptr
                                  ? "the measured order"
                                  : "the measured order is not in the catalogue; --order writes it";
  // Some schedules have a fixed number of chunks per device, and no parameter `chunks`.
  const bool takes_chunks =
      chunks > 1 && (entry == nullptr || entry->takes(&schedules::Parameters::chunks));
  return takes_chunks
             ? fmt::format("schedule: {{name: {}, chunks: {}}}  # {}\n", name, chunks, comment)
             : fmt::format("schedule: {}  # {}\n", name, comment);
}

std::string fragment(const analysis::MeasuredRun& measured, const std::string& name,
                     const std::vector<TimeList>& lists, const std::string& order_file) {
  const trace::RunInfo& run = measured.trace.run;
  std::string text =
      fmt::format("# Measured pass times of {}: medians over {} of {}.\n",
                  analysis::printable(name), counted(run.iterations, "iteration", "iterations"),
                  counted(run.microbatches, "microbatch", "microbatches"));
  for (const std::string& note : measured.notes) text += fmt::format("# note: {}\n", note);
  text += fmt::format("devices: {}\nmicrobatches: {}\n", run.devices, run.microbatches);
  text += schedule_text(measured.trace, order_file);
  for (const TimeList& list : lists) text += yaml_text(list);
  if (measured.handover_s && *measured.handover_s > 0)
    text += fmt::format(
        "# p2p_time: {}  # shortest time from a pass to the pass on another device that needs it\n",
        time_text(*measured.handover_s));
  return text;
}

// Returns the text of the user's scenario, in which the measured pass times replace all times of
// passes and layers.
std::string merged(const std::string& file, const trace::RunInfo& run,
                   const std::vector<TimeList>& lists) {
  config::Value root = config::read_yaml_file(file);
  std::erase_if(root.entries, [](const config::Entry& entry) {
    return entry.key == "backward_times" || entry.key == "input_grad_times" ||
           entry.key == "weight_grad_times" || entry.key == "layer_times";
  });
  for (const TimeList& list : lists) {
    std::vector<std::string> texts;
    for (const double time : list.seconds) texts.push_back(time_text(time));
    config::set_key(root, list.key, config::make_list(texts, {.source = "the measured run"}));
  }
  const config::Scenario scenario = config::read_scenario(root);
  if (scenario.devices.value != run.devices)
    throw UsageError(fmt::format("{}: has {} devices, but {} were measured", file,
                                 scenario.devices.value, run.devices));
  return scenario.text;
}

std::string text_option(const po::variables_map& flags, const char* option) {
  return flags.count(option) != 0 ? flags[option].as<std::string>() : std::string();
}

// Runs `profile --calibrate`. It compares kernels, so passes need no annotations.
int calibrate_command(const po::variables_map& flags, const std::vector<path>& files) {
  const std::string scenario = text_option(flags, "calibrate");
  const std::string gpu_file = text_option(flags, "gpu-file");
  if (scenario.empty() || gpu_file.empty())
    throw UsageError(
        "--calibrate and --gpu-file of profile go together: --calibrate gpt.yaml "
        "--gpu-file my.yaml");
  for (const char* const option :
       {"into", "order", "trace", "skip", "run", "pattern", "category", "microbatches", "align"})
    if (flags.count(option) != 0)
      throw UsageError(
          fmt::format("--{} does not apply to profile --calibrate, which takes the kernels of all "
                      "steps that the profiler marked (ProfilerStep#)",
                      option));
  std::vector<path> read = files;
  read.emplace_back(scenario);
  const std::array<path, 1> written{gpu_file};
  check_files(read, written);
  trace::write_file(gpu_file, calibrate(files, scenario));
  fmt::print("gpu     {}\n", gpu_file);
  return exit_ok;
}

}  // namespace

int profile_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, profile_options(), "file");
  if (flags.count("help") != 0) return print_profile_help();
  const std::vector<path> files = expand_ranks(values(flags, "file"));
  if (files.empty())
    throw UsageError("profile needs a measured run, as in 'pipewright profile MEASURED.json'");
  for (const path& file : files)
    if (const auto kind = analysis::file_kind(file);
        kind != analysis::FileKind::chrome && kind != analysis::FileKind::primus_passes)
      throw UsageError(
          fmt::format("{} has no passes that profile can read", analysis::printable(file.string())))
          .allow("JSON of a profiler or of Primus");
  if (flags.count("calibrate") + flags.count("gpu-file") > 0)
    return calibrate_command(flags, files);
  const std::string order = text_option(flags, "order");
  const std::string trace_file = text_option(flags, "trace");
  std::vector<path> written;
  for (const std::string& file : {order, trace_file})
    if (!file.empty()) written.emplace_back(file);
  check_files(files, written);

  const analysis::MeasuredRun measured = read_measured(files, measured_options(flags));
  const std::string name = measured_name(files);
  const auto lists = time_lists(
      measured.trace, analysis::pass_times(analysis::figures_of(measured.trace, name).passes));
  const std::string into = text_option(flags, "into");
  const std::string text = into.empty() ? fragment(measured, name, lists, order)
                                        : merged(into, measured.trace.run, lists);
  if (!order.empty())
    trace::write_file(order, schedules::to_torch_csv(measured_schedule(measured.trace)));
  if (!trace_file.empty()) {
    trace::TraceWriter writer(trace_file);
    trace::replay(measured.trace, writer);
  }
  fmt::print("{}", text);
  return exit_ok;
}

}  // namespace pipewright::cli
