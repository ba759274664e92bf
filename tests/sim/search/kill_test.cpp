// Tests searches whose process is killed at random moments and which are then continued.

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/report/search/front.hpp"
#include "analysis/report/search/results.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/journal.hpp"
#include "sim/search/search.hpp"
#include "support/fake_workers.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;

namespace {

search::Space make_space() {
  return {search::read_sweep(config::read_yaml_text(
              "{devices: [2, 4, 8, 16], microbatches: 8..128 step 8, forward_times: 1, "
              "backward_times: 2, p2p: [eager, rendezvous, blocking], "
              "schedule: [1f1b, gpipe, zb-h1, zb-h2], search: {objective: throughput}}",
              "the sweep")),
          {{}}};
}

// Searches in a child process, which writes the candidates that it simulates to `log` and is killed
// after `life` microseconds. Returns whether it was killed before it ended.
bool search_until_killed(const search::Space& space, const search::SearchOptions& options,
                         const std::string& log, useconds_t life) {
  const pid_t process = fork();
  if (process == 0) {
    tests::FakeWorkers workers(space, 2);
    std::ofstream log_stream(log, std::ios::app);
    workers.on_task = [&](const search::Task& task) {
      constexpr useconds_t task_time = 100;
      usleep(task_time);
      if (task.kind == search::Task::Kind::simulate) log_stream << task.candidates[0] << std::endl;
    };
    search::run_search(space, workers, options, {});
    std::_Exit(0);
  }
  usleep(life);
  kill(process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  return WIFSIGNALED(status);
}

std::vector<std::uint64_t> read_numbers(const std::string& log) {
  std::ifstream stream(log);
  return {std::istream_iterator<std::uint64_t>(stream), {}};
}

std::vector<CandidateRow> finished_in_journal(const std::filesystem::path& results,
                                              const search::Space& space) {
  std::filesystem::path path = results;
  path += ".journal";
  if (!std::filesystem::exists(path)) return {};
  return search::Journal(path, {space.sweep().text, space.axes()}).take_rows();
}

}  // namespace

TEST_CASE("a search that is killed many times neither loses nor repeats a finished candidate",
          "[kill]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  const search::SearchOptions options{
      .results = place.folder() / "r.h5", .resume = true, .target = {.exhaustive = true}};
  tests::Random random(1);
  std::set<std::uint64_t> finished;
  int kills = 0;
  for (bool killed = true; killed;) {
    const std::string log = (place.folder() / "log").string();
    std::filesystem::remove(log);
    // On a busy machine the first processes may be killed before they finish a candidate.
    const auto longest = static_cast<std::uint32_t>(20'000 + 5'000 * kills);
    killed = search_until_killed(space, options, log, random.whole(2'000, longest));
    kills += killed ? 1 : 0;
    for (const std::uint64_t candidate : read_numbers(log))
      CHECK_FALSE(finished.contains(candidate));
    std::set<std::uint64_t> now;
    for (const CandidateRow& row : finished_in_journal(*options.results, space))
      CHECK(now.insert(row.candidate).second);
    if (killed && !now.empty()) {
      CHECK(std::ranges::includes(now, finished));
      finished = now;
    }
    REQUIRE(kills < 1000);
  }
  CHECK(kills > 3);

  tests::FakeWorkers alone(space, 1);
  const analysis::SearchRun whole =
      search::run_search(space, alone, {.target = {.exhaustive = true}}, {});
  const analysis::SearchRun run = analysis::read_results(*options.results);
  CHECK(run.finished);
  REQUIRE(run.rows.size() == whole.rows.size());
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    CHECK(run.rows[i].candidate == whole.rows[i].candidate);
    CHECK(run.rows[i].outcome == whole.rows[i].outcome);
    CHECK(run.rows[i].time_s == whole.rows[i].time_s);
  }
}
