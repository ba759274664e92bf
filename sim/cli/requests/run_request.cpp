#include <chrono>
#include <cstdint>
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

// Counts the passes of a run, and sends the client their number, at most ten times a second.
class PassProgress final : public trace::Sink {
 public:
  PassProgress(const Connection& client, const schedules::Schedule& schedule)
      : client_(client), label_(evaluation::label(schedule)), total_(schedule.size()) {}

  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {
    if ((++done_ & 0xfff) == 0) send();
  }
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow&) override {}
  void finish() override {}

 private:
  void send() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    client_.send({{"progress", {{"schedule", label_}, {"done", done_}, {"of", total_}}}});
  }

  using Clock = std::chrono::steady_clock;
  const Connection& client_;
  std::string label_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point next_ = Clock::now();
};

}  // namespace

Json answer_run(Message& request, const Connection& client) {
  Stopwatch stopwatch;
  evaluation::ScenarioRun run(
      config::read_scenario(config::tree_from_json(request.json["scenario"])));
  const bool with_rows = request.json.value("rows", true);
  const bool with_progress = request.json.value("progress", false);
  std::vector<std::string> notes = notes_before(run);
  std::vector<std::string> names;
  for (const config::ScheduleSpec& spec : run.scenario().schedules) names.push_back(spec.name);
  append_notes(notes, evaluation::notes_of_files(names));
  std::vector<analysis::Summary> summaries;
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    trace::TraceCollector collector;
    std::vector<trace::Sink*> sinks;
    if (with_rows) sinks.push_back(&collector);
    PassProgress progress(client, run.plans()[i].schedule);
    if (with_progress) sinks.push_back(&progress);
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
  append_notes(notes, evaluation::notes_of_reduction(run));
  append_notes(notes, notes_of_host(run));
  return {{"notes", notes}};
}

}  // namespace pipewright::cli
