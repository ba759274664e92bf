#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "analysis/report/why/why.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/progress.hpp"
#include "sim/evaluation/what_if.hpp"

namespace pipewright::cli {
namespace {

po::options_description why_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("no-what-if", "simulate nothing again: the critical path, times and slack alone");
  add("jobs,j", po::value<int>()->value_name("N"),
      "simulations at a time (as many as the machine has processors)");
  add("json", "print JSON and nothing else");
  add("quiet,q", "no progress bar");
  add("help,h", "this text");
  return options;
}

void print_help() {
  fmt::print(
      "usage: pipewright why TRACE.h5 [OPTIONS]\n\n"
      "Says why the run of a trace takes as long as it does: what is on its critical path, where\n"
      "each device's time goes, what may get slower without harm, and what would make it faster,\n"
      "which it finds out by simulating the trace's scenario again with one change at a time.\n\n"
      "  pipewright run -s 4 -b 8 -f '1 s' --backward-times '2 s' --schedule 1f1b --trace gpt.h5\n"
      "  pipewright why gpt.h5\n"
      "  pipewright why gpt.h5 --no-what-if --json\n\n{}",
      describe(why_options()));
}

std::size_t jobs_of(const po::variables_map& given) {
  if (given.count("jobs") == 0) return std::max(1U, std::thread::hardware_concurrency());
  const int jobs = given["jobs"].as<int>();
  if (jobs < 1) throw UsageError(fmt::format("--jobs is {}; allowed: 1 or more", jobs));
  return static_cast<std::size_t>(jobs);
}

}  // namespace

int why_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, why_options(), "trace");
  if (given.count("help") != 0) {
    print_help();
    return exit_ok;
  }
  const std::vector<std::string> files = values(given, "trace");
  if (files.size() != 1)
    throw UsageError(files.empty() ? "why: which trace? 'pipewright why FILE.h5'"
                                   : "why: takes one trace; 'pipewright compare' takes several");
  const bool json = given.count("json") != 0;
  const std::size_t jobs = jobs_of(given);
  const trace::Trace trace = trace::read_trace(files.front());
  analysis::WhyReport report = analysis::why(trace, files.front());
  std::string not_again;
  if (given.count("no-what-if") == 0) {
    try {
      watch_for_interrupts();
      ProgressBar bar("what if", !json && given.count("quiet") == 0);
      const auto look = [&](std::size_t done, std::size_t of) {
        throw_if_interrupted();
        if (bar.is_due())
          bar.draw(static_cast<double>(done) / static_cast<double>(of),
                   fmt::format("{} of {} simulations", done, of));
      };
      report.what_if = evaluation::what_if(trace, report, {files.front(), jobs, look});
    } catch (const trace::TraceError& error) {
      not_again = error.what();  // what the trace says by itself stands all the same
    }
  }
  fmt::print("{}", json ? analysis::why_json_text(report) : analysis::why_text(report));
  if (not_again.empty()) return exit_ok;
  fmt::print(stderr, "pipewright: no what-if: {}\n", not_again);
  return exit_ok;
}

}  // namespace pipewright::cli
