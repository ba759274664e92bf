#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/summary_report.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"

namespace pipewright::cli {
namespace {

po::options_description show_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("output,o", several_words("FILE..")->composing(), "write .html .svg .png .pdf .json or .csv");
  add("picture", one_word("timeline|memory|tradeoff|bubbles"),
      "what .svg, .png and .pdf show (timeline)");
  add("json", "print the summary as JSON and nothing else");
  add("help,h", "this text");
  return options;
}

}  // namespace

int show_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, show_options(), "trace");
  if (given.count("help") != 0) {
    fmt::print(
        "usage: pipewright show TRACE.h5.. [OPTIONS]\n\n"
        "Prints the table of the runs whose traces these are, and draws them.\n\n"
        "  pipewright show gpt-1f1b.h5 gpt-eager-1f1b.h5 -o both.html\n"
        "  pipewright show gpt-1f1b.h5 -o memory.pdf --picture memory     # over time, stacked\n"
        "  pipewright show gpt-1f1b.h5 -o bubbles.svg --picture bubbles   # where the time goes\n"
        "  pipewright show gpt-*.h5 -o buy.png --picture tradeoff   # throughput against memory\n\n"
        "{}",
        describe(show_options()));
    return exit_ok;
  }
  const std::vector<std::string> files = values(given, "trace");
  if (files.empty()) throw UsageError("show: which trace? 'pipewright show FILE.h5'");
  const std::vector<std::string> words = values(given, "output");
  const std::vector<std::filesystem::path> named(words.begin(), words.end());
  std::vector<Output> outputs = parse_outputs(named);
  if (given.count("picture") != 0) {
    if (std::ranges::none_of(outputs, is_picture))
      throw UsageError(
          "--picture says what a picture shows: name one by -o FILE.svg, .png or .pdf");
    const Picture picture = parse_picture(given["picture"].as<std::string>());
    for (Output& output : outputs) output.picture = picture;
  }
  check_files(std::vector<std::filesystem::path>(files.begin(), files.end()), named);

  watch_for_interrupts();
  std::vector<analysis::Summary> summaries;
  std::vector<trace::Trace> traces;
  for (const std::string& file : files) {
    analysis::SummarySink summary;
    if (needs_traces(outputs)) {
      trace::TraceCollector collector;
      replay_with_progress("read", file, collector);
      traces.push_back(std::move(collector.trace));
      trace::replay(traces.back(), summary);
    } else {
      replay_with_progress("read", file, summary);
    }
    summaries.push_back(summary.summary());
  }

  const bool is_json = given.count("json") != 0;
  fmt::print("{}",
             is_json ? analysis::json_summary(summaries) : analysis::console_table(summaries));
  OutputFiles written;
  for (const Output& output : outputs)
    written.write(output.file, [&] { write_output(output, summaries, traces); });
  if (!is_json) written.print_written();
  return written.status(exit_ok);
}

}  // namespace pipewright::cli
