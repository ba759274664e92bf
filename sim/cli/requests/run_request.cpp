#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/summary_report.hpp"
#include "analysis/trace/packed.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/cli/requests/shared_block.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/tree_json.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

void append_notes(std::vector<std::string>& notes, std::vector<std::string> added) {
  for (std::string& note : added) notes.push_back(std::move(note));
}

class Stopwatch {
 public:
  // Returns the seconds since the last call of lap() or, the first time, since construction.
  double lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Json answer_run(Message& request, const Connection& client) {
  Stopwatch stopwatch;
  evaluation::ScenarioRun run(
      config::read_scenario(config::tree_from_json(request.json["scenario"])));
  const bool with_rows = request.json.value("rows", true);
  std::vector<std::string> notes = notes_before(run);
  std::vector<std::string> names;
  for (const config::ScheduleSpec& spec : run.scenario().schedules) names.push_back(spec.name);
  append_notes(notes, evaluation::notes_of_files(names));
  std::vector<analysis::Summary> summaries;
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    trace::TraceCollector collector;
    std::vector<trace::Sink*> sinks;
    if (with_rows) sinks.push_back(&collector);
    summaries.push_back(run.run(i, sinks));
    Json message{{"took_s", stopwatch.lap()}, {"run", analysis::json_of(summaries.back())}};
    if (!with_rows) {
      client.send(message);
      continue;
    }
    message["packing"] = trace::packing(collector.trace);
    SharedBlock block(message["packing"]["bytes"].get<std::size_t>());
    trace::pack(collector.trace, message["packing"], block.bytes());
    client.send(message, {block.descriptor()});
  }
  append_notes(notes, evaluation::notes_of_speed(summaries));
  append_notes(notes, notes_of_host(run));
  return {{"notes", notes}};
}

}  // namespace pipewright::cli
