#include "sim/serve/questions.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/picture/titles.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/why/why.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "analysis/web/page.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/schedule.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/launch_plan.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/evaluation/what_if.hpp"
#include "sim/jobs/job.hpp"
#include "sim/serve/scenario_text.hpp"

namespace pipewright::serve {
namespace {

using Json = nlohmann::ordered_json;
using std::filesystem::path;

void send_json(const SendLine& send, const Json& line) {
  send(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json fault_json(const Fault& fault) {
  return {{"fault",
           {{"message", fault.message},
            {"key", fault.key},
            {"line", fault.line},
            {"column", fault.column}}}};
}

Json runs_json(const std::vector<analysis::Summary>& summaries) {
  const std::vector<analysis::RunTitle> titles = analysis::run_titles(summaries);
  const std::vector<std::string> names = analysis::run_names(summaries);
  const Json figures = Json::parse(analysis::json_list(summaries));
  Json runs = Json::array();
  for (std::size_t i = 0; i < summaries.size(); ++i)
    runs.push_back({{"name", names[i]},
                    {"details", titles[i].details},
                    {"iterations", summaries[i].run.iterations},
                    {"summary", figures[i]}});
  return runs;
}

path trace_of(const Workspace& workspace, const std::string& id, std::size_t schedule) {
  return workspace.results / fmt::format("{}-{}.h5", id, schedule);
}

// Returns the paths of a result's trace files, one per schedule. Throws config::Error if there are
// none.
std::vector<path> traces_of(const Workspace& workspace, const std::string& id) {
  if (!is_result(id)) throw config::Error("there is no result of this name");
  std::vector<path> files;
  while (std::filesystem::exists(trace_of(workspace, id, files.size())))
    files.push_back(trace_of(workspace, id, files.size()));
  if (files.empty()) throw config::Error("this result is no longer stored").suggest("run it again");
  return files;
}

void add_notes(Json& notes, const std::vector<std::string>& added) {
  for (const std::string& note : added) notes.push_back(note);
}

void simulate(config::Scenario scenario, const Question& question, const Workspace& workspace,
              const SendLine& send) {
  const bool wants_estimate = scenario.engine == config::Engine::simgrid;
  evaluation::ScenarioRun run(std::move(scenario));
  Json notes = Json::array();
  add_notes(notes, evaluation::notes_before(run));
  if (wants_estimate) try {
      std::vector<analysis::Summary> estimates;
      for (std::size_t i = 0; i < run.plans().size(); ++i) estimates.push_back(run.estimate(i));
      send_json(send, {{"estimate", runs_json(estimates)}});
    } catch (const schedules::Error&) {
      // The schedule has no exact time without contention, so there is no estimate; the simulation
      // follows all the same.
    }
  std::vector<analysis::Summary> summaries;
  std::vector<trace::Trace> traces;
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    trace::TraceCollector collector;
    trace::TraceWriter writer(trace_of(workspace, question.id, i));
    summaries.push_back(run.run(i, {&collector, &writer}));
    traces.push_back(std::move(collector.trace));
  }
  add_notes(notes, evaluation::notes_of_speed(summaries));
  add_notes(notes, evaluation::notes_of_reduction(run));
  add_notes(notes, evaluation::notes_of_host(run));
  for (const analysis::Summary& summary : summaries)
    if (!analysis::fits(summary))
      add_notes(notes, {analysis::over_capacity_text(summary, summary.run.schedule)});
  const analysis::Subject subject = analysis::common_subject(summaries);
  Json result{{"id", question.id},
              {"subject", subject.name},
              {"details", subject.details},
              {"runs", runs_json(summaries)},
              {"notes", std::move(notes)}};
  send_json(send, {{"figures", result}});
  analysis::write_page(traces, workspace.results / (question.id + ".html"));
  send_json(send, {{"result", std::move(result)}});
}

Json row_json(const analysis::WhatIfRow& row) {
  Json json{{"change", row.change}, {"set_words", analysis::set_words(row.set)}};
  if (row.makespan_s) json["makespan_s"] = *row.makespan_s;
  if (!row.why_not.empty()) json["why_not"] = row.why_not;
  if (row.overflow) json["does_not_fit"] = row.overflow->device;
  return json;
}

// Returns the scenario with only the first of its schedules.
config::Scenario with_first_schedule(const config::Scenario& scenario) {
  if (scenario.schedules.size() == 1) return scenario;
  config::Value tree = scenario.tree;
  const config::Value first = config::find(tree, "schedule")->items.front();
  config::set_key(tree, "schedule", first);
  return config::read_scenario(tree);
}

std::vector<Edit> edits_of(const Json& request) {
  std::vector<Edit> edits;
  for (const Json& edit : request.value("edits", Json::array()))
    edits.emplace_back(edit.at(0).get<std::string>(), edit.at(1).get<std::string>());
  return edits;
}

}  // namespace

bool is_result(const std::string& id) {
  return id.size() > 1 && id.size() < 12 && id.front() == 'r' &&
         std::all_of(id.begin() + 1, id.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

void answer_run(const Question& question, const Workspace& workspace, const SendLine& send) {
  const Json request = Json::parse(question.request);
  std::string text = request.at("text").get<std::string>();
  // Any fault of the scenario is sent to the page, which shows it beside the scenario's text.
  try {
    text = edited(std::move(text), edits_of(request));
    config::Value tree = tree_of(text);
    send_json(send, {{"scenario", {{"text", text}, {"values", values_of(tree)}}}});
    for (const char* const output : {"output", "output_file", "trace"})
      std::erase_if(tree.entries, [&](const config::Entry& entry) { return entry.key == output; });
    simulate(config::read_scenario(tree), question, workspace, send);
  } catch (const config::Error& error) {
    send_json(send, fault_json(fault_of(error, text)));
  } catch (const cluster::Error& error) {
    send_json(send, fault_json({.message = error.what(), .key = "cluster"}));
  } catch (const schedules::Error& error) {
    send_json(send, fault_json({.message = error.what(), .key = "schedule.name"}));
  } catch (const std::runtime_error& error) {
    send_json(send, fault_json({.message = error.what(), .key = ""}));
  }
}

void answer_what_if(const Question& question, const Workspace& workspace, const SendLine& send) {
  setenv("TMPDIR", workspace.results.c_str(), 1);  // for the cluster of the trace
  const Json request = Json::parse(question.request);
  const path file = traces_of(workspace, request.at("id").get<std::string>()).front();
  const trace::Trace trace = trace::read_trace(file);
  const analysis::WhyReport report = analysis::why(trace, "the run");
  std::size_t last = 0;
  evaluation::WhatIfOptions options{.file = "the run", .jobs = workspace.jobs};
  options.on_progress = [&](std::size_t done, std::size_t of) {
    if (done == last && done > 0) return;
    last = done;
    send_json(send, {{"done", done}, {"of", of}});
  };
  options.on_row = [&](const analysis::WhatIfRow& row, double rerun_s) {
    send_json(send, {{"row", row_json(row)}, {"rerun_s", rerun_s}});
  };
  const analysis::WhatIf what_if = evaluation::what_if(trace, report, options);
  Json rows = Json::array();
  for (const analysis::WhatIfRow& row : what_if.rows) rows.push_back(row_json(row));
  send_json(send, {{"what_if",
                    {{"rerun_s", what_if.rerun_s}, {"notes", what_if.notes}, {"rows", rows}}}});
}

void answer_compare(const Question& question, const Workspace& workspace, const SendLine& send) {
  const Json request = Json::parse(question.request);
  std::vector<trace::Trace> traces;
  for (const Json& variant : request.at("variants")) {
    const std::string name = variant.at("name").get<std::string>();
    for (const path& file : traces_of(workspace, variant.at("id").get<std::string>())) {
      traces.push_back(trace::read_trace(file));
      traces.back().run.schedule = fmt::format("{}: {}", name, traces.back().run.schedule);
    }
  }
  analysis::write_page(traces, workspace.results / (question.id + ".html"));
  send_json(send, {{"page", question.id}});
}

void answer_launch(const Question& question, const Workspace& /*workspace*/, const SendLine& send) {
  const Json request = Json::parse(question.request);
  const std::string framework = request.at("framework").get<std::string>();
  const jobs::Framework* const row = jobs::find_writable_framework(framework);
  if (row == nullptr) throw config::Error("there is no framework of this name");
  const config::Scenario scenario =
      with_first_schedule(config::read_scenario(tree_of(request.at("text").get<std::string>())));
  const evaluation::ScenarioRun run(scenario);
  const jobs::Launch launch = jobs::export_job(scenario, *row, evaluation::launch_plan(run, 0));
  send_json(send, {{"launch",
                    {{"name", "launch-" + framework + launch.extension},
                     {"text", launch.text},
                     {"differs", jobs::sentences_of(launch.differs)},
                     {"beside_name", launch.beside_name},
                     {"beside", launch.beside}}}});
}

}  // namespace pipewright::serve
