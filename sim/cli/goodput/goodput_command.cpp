#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/goodput/goodput_report.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/schedule_options.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/journal.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/study.hpp"
#include "sim/sweep/objective_value.hpp"

namespace pipewright::cli {
namespace {

po::options_description goodput_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("tokens", several_words("N"),
      "number of tokens to train, such as 15T (default: as many as goodput.duration allows)");
  add("price", several_words("P"), "price of a GPU-hour, such as 2.5, $2.5 or 2.5 EUR");
  add("seeds", several_words("N"), "number of simulated runs, each with different failures (100)");
  add("only", "simulate only the requested run, without other checkpoint intervals and what-ifs");
  add("jobs,j", several_words("N"), "number of processes (one per core)");
  add("results", several_words("FILE.jsonl"),
      "file that stores the result of each seed as it ends");
  add("resume", "continue from the results that --results already contains; --seeds may differ");
  add("output,o", several_words("FILE..")->composing(),
      "write .html (page), .svg, .png or .pdf (days of the run), .json or .csv (seeds)");
  add("json", "print the result as JSON and nothing else");
  add("quiet,q", "no progress bar");
  add_scenario_options(options);
  add_schedule_options(options);
  add("help,h", "print this help");
  return options;
}

int print_goodput_help() {
  fmt::print(
      "usage: pipewright goodput SCENARIO [OPTIONS]\n"
      "\n"
      "Simulates days to months of training with failures, stragglers, silent corruption,\n"
      "checkpoints, restarts and spares. Prints the effective training time with a 90 % band over\n"
      "seeds, the best checkpoint interval, and the gain from faster storage, spares and the "
      "like.\n"
      "\n"
      "  pipewright goodput llama.yaml\n"
      "  pipewright goodput llama.yaml --tokens 15T --price '$2.5' --seeds 1000 -o goodput.html\n"
      "  pipewright goodput llama.yaml --set goodput.failures=llama-3\n"
      "      goodput.checkpoint.mode=async goodput.checkpoint.storage='2 TB/s' --spares 16\n"
      "  pipewright goodput llama.yaml --checkpoint-interval '30 min' --only -o days.png\n"
      "  pipewright goodput llama.yaml --seeds 1000 --results goodput.jsonl --resume\n"
      "\n{}\n{}",
      describe(goodput_options()), describe_section("goodput", config::goodput_keys()));
  return exit_ok;
}

struct Request {
  config::Scenario scenario;
  goodput::StudyOptions study;
  std::optional<double> price;
  std::string currency = "$";
  std::vector<Output> outputs;
  std::optional<std::filesystem::path> results;
  bool resume = false;
  bool json = false;
  bool quiet = false;
};

// Passes the value of an option to `read`, which parses it like a key of a scenario. Does nothing
// if the option is not set.
template <class Read>
void read_option(const po::variables_map& options, const char* name, const Read& read) {
  if (options.count(name) == 0) return;
  const std::string flag = std::string("--") + name;
  const config::Value value =
      config::make_text(single(values(options, name), flag), {.source = flag});
  read(config::Field{value, name});
}

Request read_goodput_request(const po::variables_map& options) {
  Request request{.scenario = config::read_scenario(scheduled_tree(options))};
  read_option(options, "tokens", [&](const config::Field& field) {
    request.study.tokens = search::read_tokens(field);
  });
  read_option(options, "price", [&](const config::Field& field) {
    analysis::Objective price;
    search::read_price(field, price);
    request.price = price.price_per_gpu_hour;
    request.currency = price.currency;
  });
  read_option(options, "seeds", [&](const config::Field& field) {
    request.study.seeds = config::read_count(field, "100");
  });
  request.study.jobs = std::max(1U, std::thread::hardware_concurrency());
  read_option(options, "jobs", [&](const config::Field& field) {
    request.study.jobs = config::read_count(field, "8");
  });
  read_option(options, "results",
              [&](const config::Field& field) { request.results = field.value.text; });
  request.study.without_variants = options.count("only") != 0;
  request.resume = options.count("resume") != 0;
  if (request.resume && !request.results) throw UsageError("--resume needs --results FILE.jsonl");
  request.json = options.count("json") != 0;
  request.quiet = options.count("quiet") != 0;
  std::vector<std::filesystem::path> files;
  for (const std::string& file : values(options, "output")) files.emplace_back(file);
  request.outputs = parse_outputs(files);
  if (request.results) files.push_back(*request.results);
  std::vector<std::filesystem::path> read;
  if (const auto file = scenario_file(options)) read.push_back(*file);
  check_files(read, files);
  for (const Output& output : request.outputs)
    if (is_picture(output) || output.kind == OutputKind::html) request.study.spans = true;
  return request;
}

constexpr double goodput_picture_width = 760;  // In points.

void write(const Output& output, const analysis::GoodputReport& report) {
  switch (output.kind) {
    case OutputKind::json:
      return trace::write_file(output.file, analysis::goodput_json(report));
    case OutputKind::csv:
      return trace::write_file(output.file, analysis::goodput_csv(report));
    case OutputKind::html:
      return analysis::write_goodput_page(output.file, report);
    default:
      return trace::write_file(
          output.file, analysis::days_picture(report, goodput_picture_width, picture_kind(output)));
  }
}

// Returns everything that the outcome of a seed depends on, besides the program. The number of
// seeds and the variants are not included, so a run with more of them continues the results of a
// smaller run.
std::string question_of(const Request& request) {
  return fmt::format("{}tokens: {}\n", request.scenario.text, request.study.tokens.value_or(0));
}

}  // namespace

int goodput_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, goodput_options(), "scenario");
  if (options.count("help") != 0) return print_goodput_help();
  Request request = read_goodput_request(options);
  watch_for_interrupts(interrupt_grace);
  std::optional<goodput::Journal> journal;
  if (request.results)
    journal.emplace(
        *request.results, question_of(request),
        request.resume ? goodput::Journal::Start::resume : goodput::Journal::Start::anew);
  const goodput::Iteration iteration = goodput::simulate_iteration(request.scenario);
  if (!request.quiet && !request.json) {
    print_notes(iteration.notes);
    print_notes(goodput::notes_of(request.scenario.goodput.value_or(config::Goodput{}), iteration));
  }
  ProgressBar bar("goodput", !request.quiet && !request.json, ProgressBar::InLogs::yes);
  request.study.look = [&](double share) {
    throw_if_interrupted();
    if (bar.is_due()) bar.draw(share, "of seeds");
  };
  analysis::GoodputReport report =
      goodput::study(request.scenario, iteration, request.study, journal ? &*journal : nullptr);
  report.price_per_gpu_hour = request.price;
  report.currency = request.currency;
  fmt::print("{}", request.json ? analysis::goodput_json(report) : analysis::goodput_text(report));
  OutputFiles files;
  for (const Output& output : request.outputs)
    files.write(output.file, [&] { write(output, report); });
  if (!request.json) files.print_written();
  return files.status(exit_ok);
}

}  // namespace pipewright::cli
