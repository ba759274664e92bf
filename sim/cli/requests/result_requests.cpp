#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/trace_comparison.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/why/why.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/packed.hpp"
#include "analysis/trace/writer.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/cli/requests/shared_block.hpp"
#include "sim/evaluation/what_if.hpp"

namespace pipewright::cli {
namespace {

// The runs of a request, each {"run": summary, "packing": ..} with its block.
struct Runs {
  std::vector<trace::Trace> traces;
  std::vector<analysis::Summary> summaries;
};

Runs runs_of(const Message& asked) {
  Runs runs;
  for (const Json& one : asked.json.at("runs")) {
    const MappedBlock block(asked.files.at(runs.traces.size()));
    runs.traces.push_back(trace::unpack(one.at("packing"), block.bytes()));
    runs.summaries.push_back(analysis::summarize(runs.traces.back()));
    analysis::add_from_json(one.at("run"), runs.summaries.back());
  }
  return runs;
}

Json table_json(const analysis::TextTable& table) {
  Json columns = Json::array();
  for (const analysis::TextTable::Column& column : table.columns())
    columns.push_back({{"head", column.head}, {"cells", column.cells}, {"is_name", column.left}});
  return columns;
}

void write_trace(const trace::Trace& trace, const std::filesystem::path& file) {
  trace::TraceWriter writer(file);
  trace::replay(trace, writer);
}

}  // namespace

Json answer_describe(Message& asked, const Connection&) {
  const Runs runs = runs_of(asked);
  return {{"text", analysis::console_table(runs.summaries)},
          {"common", analysis::common_line(runs.summaries)},
          {"columns", table_json(analysis::summary_table(runs.summaries))}};
}

Json answer_save(Message& asked, const Connection&) {
  const Runs runs = runs_of(asked);
  const std::filesystem::path file = asked.json.at("file").get<std::string>();
  if (file.extension() == ".h5" || asked.json.value("is_trace", false)) {
    if (runs.traces.size() != 1)
      throw std::runtime_error(file.string() + ": a trace file holds one run; save each by itself");
    write_trace(runs.traces.front(), file);
    return {};
  }
  std::vector<Output> outputs = parse_outputs({&file, 1});
  outputs.front().picture = parse_picture(asked.json.value("picture", "timeline"));
  write_output(outputs.front(), runs.summaries, runs.traces);
  return {};
}

Json answer_why(Message& asked, const Connection& say) {
  const Runs runs = runs_of(asked);
  const trace::Trace& run = runs.traces.at(0);
  analysis::WhyReport report = analysis::why(run, "the run");
  std::string not_again;
  if (asked.json.value("what_if", true)) try {
      std::size_t said = 0;
      const auto look = [&](std::size_t done, std::size_t of) {
        if (done == said) return;
        said = done;
        say.send({{"done", done}, {"of", of}});
      };
      report.what_if = evaluation::what_if(
          run, report, {"the run", asked.json.at("jobs").get<std::size_t>(), look});
    } catch (const trace::TraceError& error) {
      not_again = error.what();
    }
  return {{"json", analysis::why_json_text(report)},
          {"text", analysis::why_text(report)},
          {"no_what_if", not_again}};
}

Json answer_compare(Message& asked, const Connection&) {
  const Runs runs = runs_of(asked);
  const auto names = asked.json.at("names").get<std::vector<std::string>>();
  analysis::TraceComparison comparison;
  comparison.runs.push_back(analysis::figures_of(runs.traces.at(0), names.at(0)));
  const analysis::NamedMetrics base{names.at(0), metrics_of(comparison.runs.front())};
  std::vector<analysis::Condition> conditions;
  for (const Json& text : asked.json.at("conditions"))
    conditions.push_back(analysis::read_condition(text.get<std::string>(), base.metrics));
  std::vector<analysis::NamedMetrics> others;
  for (std::size_t i = 1; i < runs.traces.size(); ++i) {
    analysis::RunFigures run = analysis::figures_of(runs.traces[i], names.at(i));
    comparison.moves.push_back(analysis::compare_passes(comparison.runs.front(), run));
    run.passes = {};
    others.push_back({run.name, metrics_of(run)});
    comparison.runs.push_back(std::move(run));
  }
  comparison.judgements = analysis::judge(conditions, base, others);
  return {{"json", analysis::json_text(comparison)}, {"text", analysis::console_text(comparison)}};
}

}  // namespace pipewright::cli
