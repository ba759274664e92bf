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
#include "analysis/trace/reader.hpp"
#include "analysis/trace/writer.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/cli/requests/shared_block.hpp"
#include "sim/cli/trace/run_settings.hpp"
#include "sim/evaluation/replica_runs.hpp"
#include "sim/evaluation/what_if.hpp"

namespace pipewright::cli {
namespace {

// Runs that a request contains, each as {"run": summary, "packing": ..} with its rows in a shared
// block of memory.
struct Runs {
  std::vector<trace::Trace> traces;
  std::vector<analysis::Summary> summaries;
};

Runs runs_of(const Message& request) {
  Runs runs;
  for (const Json& run : request.json.at("runs")) {
    const MappedBlock block(request.files.at(runs.traces.size()));
    runs.traces.push_back(trace::unpack(run.at("packing"), block.bytes()));
    runs.summaries.push_back(analysis::summarize(runs.traces.back()));
    analysis::add_from_json(run.at("run"), runs.summaries.back());
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

Json answer_open(Message& request, const Connection& client) {
  const trace::Trace run = trace::read_trace(request.json.at("file").get<std::string>());
  Json message{{"run", analysis::json_of(analysis::summarize(run))},
               {"packing", trace::packing(run)}};
  SharedBlock block(message["packing"]["bytes"].get<std::size_t>());
  trace::pack(run, message["packing"], block.bytes());
  client.send(message, {block.descriptor()});
  return {{"schedule", run.run.schedule}};
}

Json answer_describe(Message& request, const Connection&) {
  const Runs runs = runs_of(request);
  return {{"text", analysis::console_table(runs.summaries)},
          {"common", analysis::common_line(runs.summaries)},
          {"columns", table_json(analysis::summary_table(runs.summaries))}};
}

Json answer_save(Message& request, const Connection&) {
  const Runs runs = runs_of(request);
  const std::filesystem::path file = request.json.at("file").get<std::string>();
  if (file.extension() == ".h5" || request.json.value("is_trace", false)) {
    if (runs.traces.size() != 1)
      throw std::runtime_error(
          file.string() + ": a trace file holds a single run; save each run to a file of its own");
    write_trace(runs.traces.front(), file);
    return {};
  }
  std::vector<Output> outputs = parse_outputs({&file, 1});
  outputs.front().picture = parse_picture(request.json.value("picture", "timeline"));
  write_output(outputs.front(), runs.summaries, runs.traces);
  return {};
}

Json answer_why(Message& request, const Connection& client) {
  const Runs runs = runs_of(request);
  const trace::Trace& run = runs.traces.at(0);
  const bool simulates = request.json.value("what_if", true);
  std::optional<evaluation::ReplicaRuns> replica_runs;
  if (simulates) replica_runs.emplace(run, "the run");
  analysis::WhyReport report =
      analysis::why(run, "the run", replica_runs ? replica_runs->reruns() : analysis::Reruns{});
  std::string no_what_if;
  if (simulates) try {
      std::size_t reported = 0;
      const auto look = [&](std::size_t done, std::size_t of) {
        if (done == reported) return;
        reported = done;
        client.send({{"done", done}, {"of", of}});
      };
      report.what_if = evaluation::what_if(
          run, report, {"the run", request.json.at("jobs").get<std::size_t>(), look});
    } catch (const trace::TraceError& error) {
      no_what_if = error.what();
    }
  return {{"json", analysis::why_json_text(report)},
          {"text", analysis::why_text(report)},
          {"no_what_if", no_what_if}};
}

Json answer_compare(Message& request, const Connection&) {
  const Runs runs = runs_of(request);
  const auto names = request.json.at("names").get<std::vector<std::string>>();
  analysis::TraceComparison comparison;
  comparison.runs.push_back(analysis::figures_of(runs.traces.at(0), names.at(0)));
  const analysis::NamedMetrics base{names.at(0), metrics_of(comparison.runs.front())};
  std::vector<analysis::Condition> conditions;
  for (const Json& text : request.json.at("conditions"))
    conditions.push_back(analysis::read_condition(text.get<std::string>(), base.metrics));
  std::vector<analysis::NamedMetrics> candidates;
  for (std::size_t i = 1; i < runs.traces.size(); ++i) {
    analysis::RunFigures run = analysis::figures_of(runs.traces[i], names.at(i));
    comparison.moves.push_back(analysis::compare_passes(comparison.runs.front(), run));
    run.passes = {};
    candidates.push_back({run.name, metrics_of(run)});
    comparison.runs.push_back(std::move(run));
  }
  add_settings(comparison);
  comparison.judgements = analysis::judge(conditions, base, candidates);
  return {{"json", analysis::json_text(comparison)}, {"text", analysis::console_text(comparison)}};
}

}  // namespace pipewright::cli
