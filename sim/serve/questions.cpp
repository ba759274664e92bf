#include "sim/serve/questions.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/page/page.hpp"
#include "analysis/picture/titles.hpp"
#include "analysis/summary_report.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "analysis/why/why.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/evaluation/what_if.hpp"
#include "sim/jobs/export.hpp"
#include "sim/serve/scenario_text.hpp"

namespace pipewright::serve {
namespace {

using Json = nlohmann::ordered_json;
using std::filesystem::path;

void tell(const Say& say, const Json& line) {
  say(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json fault_json(const std::string& message, const std::string& text) {
  const Fault fault = fault_of(message, text);
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

path trace_of(const Place& place, const std::string& id, std::size_t schedule) {
  return place.results / fmt::format("{}-{}.h5", id, schedule);
}

// Those of the schedules of a result.
std::vector<path> traces_of(const Place& place, const std::string& id) {
  if (!is_result(id)) throw config::Error("no result is called so");
  std::vector<path> files;
  while (std::filesystem::exists(trace_of(place, id, files.size())))
    files.push_back(trace_of(place, id, files.size()));
  if (files.empty()) throw config::Error("this result is no longer kept; run it again");
  return files;
}

void add_notes(Json& notes, const std::vector<std::string>& more) {
  for (const std::string& note : more) notes.push_back(note);
}

void simulate(config::Scenario scenario, const Question& question, const Place& place,
              const Say& say) {
  const bool wants_estimate = scenario.engine == config::Engine::simgrid;
  evaluation::ScenarioRun run(std::move(scenario));
  Json notes = Json::array();
  add_notes(notes, evaluation::notes_before(run));
  if (wants_estimate) try {
      std::vector<analysis::Summary> estimates;
      for (std::size_t i = 0; i < run.plans().size(); ++i) estimates.push_back(run.estimate(i));
      tell(say, {{"estimate", runs_json(estimates)}});
    } catch (const schedules::Error&) {
      // It has no exact time without contention; the simulation follows.
    }
  std::vector<analysis::Summary> summaries;
  std::vector<trace::Trace> traces;
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    trace::TraceCollector collector;
    trace::TraceWriter writer(trace_of(place, question.id, i));
    summaries.push_back(run.run(i, {&collector, &writer}));
    traces.push_back(std::move(collector.trace));
  }
  add_notes(notes, evaluation::notes_of_speed(summaries));
  add_notes(notes, evaluation::notes_of_host(run));
  for (const analysis::Summary& summary : summaries)
    if (!analysis::fits(summary))
      add_notes(notes, {analysis::over_capacity_text(summary, summary.run.schedule)});
  const analysis::Subject subject = analysis::subject_of(summaries);
  Json result{{"id", question.id},
              {"subject", subject.name},
              {"details", subject.details},
              {"runs", runs_json(summaries)},
              {"notes", std::move(notes)}};
  tell(say, {{"figures", result}});
  analysis::write_page(traces, place.results / (question.id + ".html"));
  tell(say, {{"result", std::move(result)}});
}

Json row_json(const analysis::WhatIfRow& row) {
  Json json{{"change", row.change}};
  if (row.makespan_s) json["makespan_s"] = *row.makespan_s;
  if (!row.why_not.empty()) json["why_not"] = row.why_not;
  if (row.overflow) json["does_not_fit"] = row.overflow->device;
  return json;
}

// One of its schedules alone.
config::Scenario with_first_schedule(const config::Scenario& scenario) {
  if (scenario.schedules.size() == 1) return scenario;
  config::Value tree = scenario.tree;
  const config::Value one = config::find(tree, "schedule")->items.front();
  config::set_key(tree, "schedule", one);
  return config::read_scenario(tree);
}

std::vector<Edit> edits_of(const Json& asked) {
  std::vector<Edit> edits;
  for (const Json& edit : asked.value("edits", Json::array()))
    edits.emplace_back(edit.at(0).get<std::string>(), edit.at(1).get<std::string>());
  return edits;
}

}  // namespace

bool is_result(const std::string& id) {
  return id.size() > 1 && id.size() < 12 && id.front() == 'r' &&
         std::all_of(id.begin() + 1, id.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

void answer_run(const Question& question, const Place& place, const Say& say) {
  const Json asked = Json::parse(question.asked);
  std::string text = asked.at("text").get<std::string>();
  // Faults of what was typed, and of what it means, belong to the text.
  try {
    text = edited(std::move(text), edits_of(asked));
    config::Value tree = tree_of(text);
    tell(say, {{"scenario", {{"text", text}, {"values", values_of(tree)}}}});
    for (const char* const written : {"output", "output_file", "trace"})
      std::erase_if(tree.entries, [&](const config::Entry& one) { return one.key == written; });
    simulate(config::read_scenario(tree), question, place, say);
  } catch (const std::runtime_error& error) {
    tell(say, fault_json(error.what(), text));
  }
}

void answer_what_if(const Question& question, const Place& place, const Say& say) {
  setenv("TMPDIR", place.results.c_str(), 1);  // where the cluster of the trace goes
  const Json asked = Json::parse(question.asked);
  const path file = traces_of(place, asked.at("id").get<std::string>()).front();
  const trace::Trace trace = trace::read_trace(file);
  const analysis::WhyReport report = analysis::why(trace, "the run");
  std::size_t last = 0;
  evaluation::WhatIfOptions options{.file = "the run", .jobs = place.jobs};
  options.look = [&](std::size_t done, std::size_t of) {
    if (done == last && done > 0) return;
    last = done;
    tell(say, {{"done", done}, {"of", of}});
  };
  options.found = [&](const analysis::WhatIfRow& row, std::optional<double> rerun_s) {
    Json line{{"row", row_json(row)}};
    line["rerun_s"] = rerun_s.value_or(report.makespan_s);
    tell(say, line);
  };
  const analysis::WhatIf all = evaluation::what_if(trace, report, options);
  Json rows = Json::array();
  for (const analysis::WhatIfRow& row : all.rows) rows.push_back(row_json(row));
  tell(say, {{"what_if", {{"rerun_s", all.rerun_s}, {"notes", all.notes}, {"rows", rows}}}});
}

void answer_compare(const Question& question, const Place& place, const Say& say) {
  const Json asked = Json::parse(question.asked);
  std::vector<trace::Trace> traces;
  for (const Json& variant : asked.at("variants")) {
    const std::string name = variant.at("name").get<std::string>();
    for (const path& file : traces_of(place, variant.at("id").get<std::string>())) {
      traces.push_back(trace::read_trace(file));
      traces.back().run.schedule = fmt::format("{}: {}", name, traces.back().run.schedule);
    }
  }
  analysis::write_page(traces, place.results / (question.id + ".html"));
  tell(say, {{"page", question.id}});
}

void answer_launch(const Question& question, const Place& /*place*/, const Say& say) {
  const Json asked = Json::parse(question.asked);
  const std::string framework = asked.at("framework").get<std::string>();
  const auto known = std::ranges::find(jobs::framework_names, framework);
  if (known == jobs::framework_names.end()) throw config::Error("no such framework");
  const config::Scenario scenario =
      with_first_schedule(config::read_scenario(tree_of(asked.at("text").get<std::string>())));
  const evaluation::ScenarioRun run(scenario);
  const jobs::Launch launch = jobs::export_job(
      scenario, static_cast<jobs::Framework>(known - jobs::framework_names.begin()),
      &run.plans().front().schedule);
  tell(say, {{"launch",
              {{"name", "launch-" + framework + launch.extension},
               {"text", launch.text},
               {"differs", launch.differs},
               {"beside_name", launch.beside_name},
               {"beside", launch.beside}}}});
}

}  // namespace pipewright::serve
