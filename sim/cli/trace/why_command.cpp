#include <algorithm>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "analysis/report/why/why.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/progress.hpp"
#include "sim/evaluation/replica_runs.hpp"
#include "sim/evaluation/what_if.hpp"

namespace pipewright::cli {
namespace {

po::options_description why_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("no-what-if", "print critical path, times and slack only, without new simulations");
  add("jobs,j", po::value<int>()->value_name("N"),
      "parallel simulations (default: number of processors)");
  add("json", "print JSON and nothing else");
  add("quiet,q", "no progress bar");
  add("help,h", "print this help");
  return options;
}

void print_why_help() {
  fmt::print(
      "usage: pipewright why TRACE.h5 [OPTIONS]\n\n"
      "Explains the time of a traced run: its critical path, the parts of each device's time, the\n"
      "slack of stages and links, and the gain of changes, each of which is found by simulating\n"
      "the trace's scenario again with that change.\n\n"
      "  pipewright run -s 4 -b 8 -f '1 s' --backward-times '2 s' --schedule 1f1b --trace gpt.h5\n"
      "  pipewright why gpt.h5\n"
      "  pipewright why gpt.h5 --no-what-if --json\n\n{}",
      describe(why_options()));
}

std::size_t process_count(const po::variables_map& flags) {
  if (flags.count("jobs") == 0) return std::max(1U, std::thread::hardware_concurrency());
  const int jobs = flags["jobs"].as<int>();
  if (jobs < 1) throw UsageError(fmt::format("--jobs is {}", jobs)).allow("1 or more");
  return static_cast<std::size_t>(jobs);
}

}  // namespace

int why_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, why_options(), "trace");
  if (flags.count("help") != 0) {
    print_why_help();
    return exit_ok;
  }
  const std::vector<std::string> files = values(flags, "trace");
  if (files.size() != 1)
    throw UsageError(files.empty() ? "why needs a trace, as in 'pipewright why FILE.h5'"
                                   : "why takes one trace; 'pipewright compare' takes several");
  const bool json = flags.count("json") != 0;
  const std::size_t jobs = process_count(flags);
  const trace::Trace trace = trace::read_trace(files.front());
  const bool simulates = flags.count("no-what-if") == 0;
  std::optional<evaluation::ReplicaRuns> replica_runs;
  if (simulates) replica_runs.emplace(trace, files.front());
  analysis::WhyReport report = analysis::why(
      trace, files.front(), replica_runs ? replica_runs->reruns() : analysis::Reruns{});
  std::string what_if_error;
  if (simulates) {
    try {
      watch_for_interrupts();
      ProgressBar bar("what if", !json && flags.count("quiet") == 0);
      const auto look = [&](std::size_t done, std::size_t of) {
        throw_if_interrupted();
        if (bar.is_due())
          bar.draw(static_cast<double>(done) / static_cast<double>(of),
                   fmt::format("{} of {} simulations", done, of));
      };
      report.what_if = evaluation::what_if(trace, report, {files.front(), jobs, look});
    } catch (const trace::TraceError& error) {
      what_if_error = error.what();  // the rest of the report does not need the scenario
    }
  }
  fmt::print("{}", json ? analysis::why_json_text(report) : analysis::why_text(report));
  if (what_if_error.empty()) return exit_ok;
  fmt::print(stderr, "pipewright: no what-if: {}\n", what_if_error);
  return exit_ok;
}

}  // namespace pipewright::cli
