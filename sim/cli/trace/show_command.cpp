#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/summary_report.hpp"
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
      "content of .svg, .png and .pdf (timeline)");
  add("json", "print the summary as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

}  // namespace

int show_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, show_options(), "trace");
  if (flags.count("help") != 0) {
    fmt::print(
        "usage: pipewright show TRACE.h5.. [OPTIONS]\n\n"
        "Prints the tables of the runs of these traces, and draws them.\n\n"
        "  pipewright show gpt-1f1b.h5 gpt-eager-1f1b.h5 -o both.html\n"
        "  pipewright show gpt-1f1b.h5 -o memory.pdf --picture memory     # over time, stacked\n"
        "  pipewright show gpt-1f1b.h5 -o bubbles.svg --picture bubbles   # where the time goes\n"
        "  pipewright show gpt-*.h5 -o buy.png --picture tradeoff   # throughput against memory\n\n"
        "{}",
        describe(show_options()));
    return exit_ok;
  }
  const std::vector<std::string> files = values(flags, "trace");
  if (files.empty()) throw UsageError("show needs a trace, as in 'pipewright show FILE.h5'");
  const std::vector<std::string> words = values(flags, "output");
  const std::vector<std::filesystem::path> output_files(words.begin(), words.end());
  std::vector<Output> outputs = parse_outputs(output_files);
  if (flags.count("picture") != 0) {
    if (std::ranges::none_of(outputs, is_picture))
      throw UsageError("--picture needs a picture").suggest("give -o FILE.svg, .png or .pdf");
    const Picture picture = parse_picture(flags["picture"].as<std::string>());
    for (Output& output : outputs) output.picture = picture;
  }
  check_files(std::vector<std::filesystem::path>(files.begin(), files.end()), output_files);

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

  const bool is_json = flags.count("json") != 0;
  fmt::print("{}",
             is_json ? analysis::json_summary(summaries) : analysis::console_table(summaries));
  OutputFiles written;
  for (const Output& output : outputs)
    written.write(output.file, [&] { write_output(output, summaries, traces); });
  if (!is_json) written.print_written();
  return written.status(exit_ok);
}

}  // namespace pipewright::cli
