// Measures how many simulations per second one coordinator of a search can hand out: its own CPU
// time per simulation, with journal and JSON lines. Its 4,096 simulated workers answer after given
// times in virtual time.

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/config/text/yaml.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/search.hpp"
#include "support/fake_workers.hpp"
#include "support/random.hpp"

namespace {

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;

constexpr std::size_t workers = 4096;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

search::Space make_space() {
  return {search::read_sweep(config::read_yaml_text(
              "{devices: [2, 4, 8, 16], microbatches: 1..1024, forward_times: 1, "
              "backward_times: 2, p2p: [eager, rendezvous, blocking], "
              "schedule: [1f1b, gpipe, zb-h1, zb-h2], search: {objective: throughput}}",
              "the sweep")),
          {{}}};
}

// Workers that take 0.5 to 1.5 s of virtual time per line. Each answer is delivered on its own, as
// if no two arrived at once. Their own CPU time is measured, so that it can be subtracted.
class SlowWorkers final : public search::Workers {
 public:
  explicit SlowWorkers(const search::Space& space) : space_(space), ready_(workers) {}

  std::size_t count() const override { return workers; }
  bool is_alive(std::size_t) const override { return true; }
  bool restart(std::size_t) override { return false; }

  void send(std::size_t worker, const std::string& line) override {
    const double began = cpu_seconds();
    std::string answer = to_line(search::HandshakeReply{});
    if (ready_[worker]) answer = answer_to(search::read_task(line));
    ready_[worker] = true;
    due_.push({now_ + random_.real(0.5, 1.5), worker, std::move(answer)});
    own_ += cpu_seconds() - began;
  }
  std::vector<Event> wait(double) override {
    const double began = cpu_seconds();
    Due next = due_.top();
    due_.pop();
    now_ = next.at;
    ++messages_;
    std::vector<Event> events{{next.worker, Event::Kind::answer, std::move(next.line)}};
    own_ += cpu_seconds() - began;
    return events;
  }
  double own_seconds() const { return own_; }
  std::uint64_t simulated() const { return simulated_; }
  std::uint64_t messages() const { return messages_; }

 private:
  struct Due {
    double at;
    std::size_t worker;
    std::string line;
    bool operator<(const Due& other) const { return other.at < at; }
  };

  std::string answer_to(const search::Task& task) {
    search::Answer answer{.id = task.id, .rows = {}};
    for (const std::uint64_t candidate : task.candidates) {
      CandidateRow row = tests::made_up_row(space_, candidate);
      if (task.kind == search::Task::Kind::simulate) {
        ++simulated_;
      } else if (row.outcome == Outcome::simulated) {
        row.outcome = Outcome::open;
        row.time_s = 0;
      }
      answer.rows.push_back(std::move(row));
    }
    return to_line(answer);
  }

  const search::Space& space_;
  std::vector<bool> ready_;
  std::priority_queue<Due> due_;
  tests::Random random_{1};
  double now_ = 0;
  double own_ = 0;  // not the coordinator's
  std::uint64_t simulated_ = 0;
  std::uint64_t messages_ = 0;
};

void coordinator(benchmark::State& state) {
  const search::Space space = make_space();
  const auto results = std::filesystem::temp_directory_path() / "pipewright-coordinator-bench.h5";
  double seconds = 0;
  double messages = 0;
  double simulated = 0;
  for (auto _ : state) {
    SlowWorkers crowd(space);
    const double began = cpu_seconds();
    const analysis::SearchRun run = search::run_search(
        space, crowd, {.results = results, .target = {.exhaustive = state.range(0) != 0}}, {});
    seconds += cpu_seconds() - began - crowd.own_seconds();
    messages += static_cast<double>(crowd.messages());
    simulated += static_cast<double>(crowd.simulated());
    benchmark::DoNotOptimize(run.rows.size());
  }
  std::filesystem::remove(results);
  state.counters["us/message"] = 1e6 * seconds / messages;
  state.counters["messages/s"] = messages / seconds;
  state.counters["simulated"] = simulated / static_cast<double>(state.iterations());
  // Time of a simulation, in ms of the workers, above which the coordinator keeps up with 4,096 of
  // them.
  state.counters["shortest_ms"] = 1e3 * static_cast<double>(workers) * seconds / messages;
}

BENCHMARK(coordinator)
    ->ArgName("exhaustive")
    ->Arg(1)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(2);

}  // namespace
