// Tests the worker processes of a search through the messages that the coordinator exchanges with
// them.

#include <csignal>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "sim/config/text/yaml.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/search.hpp"
#include "sim/search/worker_pool.hpp"
#include "sim/search/workers.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;
using Catch::Contains;
using search::Task;
using Event = search::Workers::Event;

namespace {

const char* const sweep =
    "cluster: dgx-h100\n"
    "model: llama-3-8b\n"
    "parallel: {tp: [1, 2], pp: [2, 4, 5], sp: true}\n"
    "schedule: [1f1b, zb-h1]\n"
    "training: {recompute: full}\n"
    "global_batch: 32\n"
    "search: {gpus: 8, constraints: tp * pp <= 8}\n";

// A sweep whose candidates take seconds to simulate, as they have thousands of passes.
const char* const long_sweep =
    "{devices: 64, microbatches: [40000, 40001], forward_times: 1, backward_times: 2, "
    "schedule: 1f1b}\n";

class TestWorker {
 public:
  explicit TestWorker(const std::vector<std::string>& options = {})
      : workers_(1, command(options)) {}

  Event next() {
    for (;;)
      for (Event& event : workers_.wait(1)) return event;
  }
  search::HandshakeReply shake_hands(const search::Handshake& handshake) {
    workers_.send(0, to_line(handshake));
    return search::read_handshake_reply(next().text);
  }
  // Sends the sweep to the worker, which can then take tasks.
  TestWorker& load(const std::string& text) {
    const search::HandshakeReply facts = shake_hands({text, std::nullopt});
    REQUIRE(facts.error.empty());
    REQUIRE(shake_hands({text, facts.facts}).error.empty());
    return *this;
  }
  void ask(const Task& task) { workers_.send(0, to_line(task)); }
  std::vector<CandidateRow> rows(const Task& task) {
    ask(task);
    const Event event = next();
    CAPTURE(event.text);
    REQUIRE(event.kind == Event::Kind::answer);
    const search::Answer answer = search::read_answer(event.text);
    CHECK(answer.id == task.id);
    return answer.rows;
  }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& options) {
    std::vector<std::string> words{PIPEWRIGHT_PROGRAM, "search", "--serve"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  search::LocalWorkers workers_;
};

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) +
                       "/children");
  return {std::istream_iterator<pid_t>(stream), {}};
}

// Returns the first descendant process of a generation: 1 is the worker, 2 its child for the
// cluster, and 3 a simulation.
pid_t descendant(int generation) {
  for (;; usleep(1000)) {
    pid_t process = getpid();
    int depth = 0;
    for (; depth < generation; ++depth) {
      const std::vector<pid_t> children = children_of(process);
      if (children.empty()) break;
      process = children.front();
    }
    if (depth == generation) return process;
  }
}

}  // namespace

TEST_CASE("a worker returns the facts of the clusters of a sweep", "[serve]") {
  TestWorker worker;
  const search::HandshakeReply reply = worker.shake_hands({sweep, std::nullopt});
  REQUIRE(reply.facts);
  REQUIRE(reply.facts->size() == 1);
  const search::ClusterFacts& facts = reply.facts->front();
  CHECK(facts.name == "dgx-h100");
  CHECK(facts.gpus_per_node == 8);
  CHECK(facts.gpus % 8 == 0);
  CHECK(facts.gpu == "h100-sxm");
  CHECK(facts.memory == std::uint64_t{80} << 30U);
  // The reply lists several clusters in the order of the sweep.
  const search::HandshakeReply two_clusters =
      worker.shake_hands({"{cluster: [dgx-a100, dgx-h100], model: llama-3-8b, microbatches: 8, "
                          "devices: 8}",
                          std::nullopt});
  REQUIRE(two_clusters.facts);
  REQUIRE(two_clusters.facts->size() == 2);
  CHECK(two_clusters.facts->at(0).name == "dgx-a100");
  CHECK(two_clusters.facts->at(1).name == "dgx-h100");
}

TEST_CASE("a worker reports errors of a sweep or a cluster", "[serve]") {
  TestWorker worker;
  CHECK_THAT(worker.shake_hands({"{devices: 4, cluster: dgx-a1000}", std::nullopt}).error,
             Contains("dgx-a1000"));
  CHECK_THAT(worker.shake_hands({"{devices: 4, search: {objektive: mfu}}", std::nullopt}).error,
             Contains("objektive"));
  CHECK_THAT(worker.shake_hands({"cluster: /nowhere/x.xml", std::nullopt}).error,
             Contains("/nowhere/x.xml"));
  // The worker still accepts a sweep after one that it could not read.
  CHECK(worker.shake_hands({sweep, std::nullopt}).error.empty());
}

TEST_CASE("a worker simulates as `pipewright run` does, and its bounds hold", "[serve]") {
  TestWorker worker;
  const search::Space space(search::read_sweep(config::read_yaml_text(sweep, "the sweep")),
                            *worker.shake_hands({sweep, std::nullopt}).facts);
  worker.load(sweep);
  Task task{.id = 3, .candidates = {}};
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const std::uint32_t schedule : schedules)
      task.candidates.push_back(layout * space.schedules() + schedule);
    return true;
  });
  const std::vector<CandidateRow> rows = worker.rows(task);
  REQUIRE(rows.size() == 8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].candidate == task.candidates[i]);
    CAPTURE(rows[i].note);
    if (rows[i].outcome == Outcome::does_not_fit) continue;
    REQUIRE(rows[i].outcome == Outcome::open);
    CHECK(rows[i].bound_s > 0);
    const CandidateRow row =
        worker.rows({.id = 4 + i, .kind = Task::Kind::simulate, .candidates = {rows[i].candidate}})
            .at(0);
    CHECK(row.outcome == Outcome::simulated);
    CHECK(row.time_s >= rows[i].bound_s * (1 - 1e-9));
    CHECK(row.peak_bytes == rows[i].peak_bytes);
  }
  const tests::CommandFolder place;
  place.write("candidate.yaml", config::to_yaml(space.candidate(task.candidates[0])));
  const tests::ProgramResult ran = place.run("run candidate.yaml --json");
  REQUIRE(ran.status == 0);
  const CandidateRow row =
      worker.rows({.id = 99, .kind = Task::Kind::simulate, .candidates = {task.candidates[0]}})
          .at(0);
  CHECK(nlohmann::json::parse(ran.out).at("makespan_s") == row.time_s);
}

TEST_CASE("an impossible layout is illegal and does not end the worker", "[serve]") {
  TestWorker worker;
  worker.load(
      "{devices: 4, microbatches: 8, forward_times: 1, backward_times: 2, "
      "schedule: [1f1b, {name: interleaved-1f1b, chunks: 3}, zb-h1], "
      "boundary_tensor: [1 MB, 2 MB]}\n");
  const std::vector<CandidateRow> rows = worker.rows({.id = 1, .candidates = {0, 1, 2, 3, 5}});
  REQUIRE(rows.size() == 5);
  for (const CandidateRow& row : rows) {
    CAPTURE(row.note);
    CHECK((row.outcome == Outcome::open || row.outcome == Outcome::illegal));
    CHECK((row.outcome == Outcome::illegal) == !row.note.empty());
  }
  CHECK(rows[0].outcome == Outcome::open);
}

TEST_CASE("a candidate whose simulation exceeds the time limit fails", "[serve]") {
  TestWorker worker({"--time-limit", "0.3 s"});
  worker.load(long_sweep);
  const Task task{.id = 1, .kind = Task::Kind::simulate, .candidates = {0}};
  const CandidateRow row = worker.rows(task).at(0);
  CHECK(row.outcome == Outcome::failed);
  CHECK(row.note == "took longer than 0.3 s");
  CHECK(worker.rows(task).at(0).outcome == Outcome::failed);
}

TEST_CASE("a candidate whose simulation crashes fails", "[serve]") {
  TestWorker worker;
  worker.load(long_sweep);
  worker.ask({.id = 1, .kind = Task::Kind::simulate, .candidates = {1}});
  kill(descendant(3), SIGSEGV);
  const CandidateRow row = search::read_answer(worker.next().text).rows.at(0);
  CHECK(row.outcome == Outcome::failed);
  CHECK(row.candidate == 1);
  CHECK(row.note == "its process ended with signal 11 (Segmentation fault)");
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a candidate whose simulation exceeds the memory limit fails", "[serve]") {
  TestWorker worker({"--worker-memory", "1 MiB"});
  worker.load(long_sweep);
  const CandidateRow row =
      worker.rows({.id = 1, .kind = Task::Kind::simulate, .candidates = {1}}).at(0);
  CHECK(row.outcome == Outcome::failed);
  CHECK_THAT(row.note, Contains("not enough memory"));
}
#endif

TEST_CASE("a worker whose assessment crashes is lost with the reason", "[serve]") {
  TestWorker worker;
  worker.load(long_sweep);
  worker.rows({.id = 1, .candidates = {0}});
  kill(descendant(2), SIGKILL);
  worker.ask({.id = 2, .candidates = {1}});
  const Event event = worker.next();
  CHECK(event.kind == Event::Kind::lost);
  CHECK_THAT(event.text, Contains("the process that assesses candidates ended with signal 9"));
}

TEST_CASE("the simulation of a worker ends with the worker", "[serve]") {
  pid_t simulation = 0;
  {
    TestWorker worker;
    worker.load(long_sweep);
    worker.ask({.id = 1, .kind = Task::Kind::simulate, .candidates = {0}});
    simulation = descendant(3);
  }
  const std::string entry = "/proc/" + std::to_string(simulation) + "/fd/0";
  while (kill(simulation, 0) == 0 && access(entry.c_str(), F_OK) == 0) usleep(1000);
  SUCCEED("it has ended");
}

TEST_CASE("a search finishes although a worker is killed", "[serve]") {
  const search::Sweep read = search::read_sweep(config::read_yaml_text(sweep, "the sweep"));
  const std::vector<std::string> command{PIPEWRIGHT_PROGRAM, "search", "--serve"};
  search::LocalWorkers workers(2, command);
  search::SearchOptions options;
  options.facts = search::ask_facts(workers, sweep);
  options.target.exhaustive = true;
  const search::Space space(read, options.facts);
  int kills = 0;
  const auto progress = [&](const search::State&, const analysis::SearchRun&) {
    if (kills > 0) return;
    ++kills;
    kill(children_of(getpid()).front(), SIGKILL);
  };
  const analysis::SearchRun run =
      search::run_search(space, workers, options, {.progress = progress, .interrupted = {}});
  CHECK(kills == 1);
  CHECK(run.finished);

  search::LocalWorkers undisturbed_workers(1, command);
  const analysis::SearchRun whole = search::run_search(space, undisturbed_workers, options, {});
  REQUIRE(run.rows.size() == whole.rows.size());
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    CHECK(run.rows[i].outcome == whole.rows[i].outcome);
    CHECK(run.rows[i].time_s == whole.rows[i].time_s);
  }
}
