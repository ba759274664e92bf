#include "sim/search/search.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "analysis/report/search/front.hpp"
#include "analysis/report/search/results.hpp"
#include "analysis/report/search/row_json.hpp"
#include "analysis/trace/error.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/journal.hpp"
#include "sim/search/worker_pool.hpp"
#include "support/fake_workers.hpp"
#include "support/program.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;
using Catch::Contains;
using tests::FakeWorkers;

namespace {

search::Space make_space(const std::string& microbatches = "8..64 step 8") {
  return {search::read_sweep(config::read_yaml_text(
              "{devices: [2, 4, 8, 16], microbatches: " + microbatches +
                  ", forward_times: 1, backward_times: 2, p2p: [eager, rendezvous, blocking], "
                  "schedule: [1f1b, gpipe, zb-h1], search: {objective: throughput}}",
              "the sweep")),
          {{}}};
}

std::vector<std::uint64_t> numbers(const std::vector<CandidateRow>& rows) {
  std::vector<std::uint64_t> candidates;
  for (const CandidateRow& row : rows) candidates.push_back(row.candidate);
  return candidates;
}

std::vector<std::uint64_t> candidates_of_space(const search::Space& space) {
  std::vector<std::uint64_t> candidates;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const std::uint32_t schedule : schedules)
      candidates.push_back(layout * space.schedules() + schedule);
    return true;
  });
  return candidates;
}

std::vector<std::string> lines(const std::vector<CandidateRow>& rows) {
  std::vector<std::string> texts;
  for (const CandidateRow& row : rows) texts.push_back(analysis::to_json_line(row));
  return texts;
}

std::uint64_t best_of(const analysis::SearchRun& run) {
  return run.rows.at(analysis::ranking(run).at(0)).candidate;
}

bool is_final(const CandidateRow& row) {
  return row.outcome != Outcome::open && row.outcome != Outcome::bounded_away;
}

}  // namespace

TEST_CASE("The last progress of a search that takes milliseconds has its best candidate") {
  const search::Space space = make_space();
  FakeWorkers workers(space, 1);
  search::State::Phase phase{};
  std::optional<std::uint64_t> best;
  const analysis::SearchRun run =
      search::run_search(space, workers, {},
                         {.progress =
                              [&](const search::State& state, const analysis::SearchRun& so_far) {
                                phase = state.phase;
                                if (state.best) best = so_far.rows.at(*state.best).candidate;
                              },
                          .interrupted = {}});
  CHECK(phase == search::State::Phase::done);
  CHECK(best == best_of(run));
}

TEST_CASE("a search assesses every candidate and simulates few", "[search]") {
  const search::Space space = make_space();
  FakeWorkers workers(space, 3);
  const analysis::SearchRun run = search::run_search(space, workers, {}, {});
  CHECK(numbers(run.rows) == candidates_of_space(space));
  CHECK(run.rows.size() == 4 * 8 * 3 * 3);
  CHECK(run.finished);
  CHECK(run.axes.size() == 4);
  CHECK(workers.simulated.size() < run.rows.size() / 3);
  FakeWorkers exhaustive_workers(space, 1);
  const analysis::SearchRun all =
      search::run_search(space, exhaustive_workers, {.target = {.exhaustive = true}}, {});
  CHECK(exhaustive_workers.simulated.size() > run.rows.size() / 2);
  CHECK(best_of(all) == best_of(run));
  CHECK(all.exhaustive);
}

TEST_CASE("a finished search leaves its results and no journal", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  FakeWorkers workers(space, 3);
  const search::SearchOptions options{.results = place.folder() / "r.h5"};
  const analysis::SearchRun run = search::run_search(space, workers, options, {});
  CHECK(place.files() == "r.h5");
  CHECK(lines(analysis::read_results(*options.results).rows) == lines(run.rows));
}

TEST_CASE("a search continues where it was interrupted", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  search::SearchOptions options{.results = place.folder() / "r.h5", .resume = true};
  FakeWorkers alone(space, 1);
  const analysis::SearchRun whole = search::run_search(space, alone, {}, {});
  std::set<std::uint64_t> simulated;
  analysis::SearchRun run;
  int times = 0;
  for (; !run.finished; ++times) {
    FakeWorkers workers(space, 2);
    int steps = 0;
    const auto interrupted = [&] { return ++steps > 4; };
    run = search::run_search(space, workers, options, {.progress = {}, .interrupted = interrupted});
    if (run.finished) CHECK(run.gap == 0);
    for (const std::uint64_t candidate : workers.simulated)
      if (run.finished ||
          is_final(*std::ranges::find(run.rows, candidate, &CandidateRow::candidate)))
        CHECK(simulated.insert(candidate).second);
    REQUIRE(times < 1000);
  }
  CHECK(times > 3);
  CHECK(best_of(run) == best_of(whole));
  CHECK(numbers(run.rows) == numbers(whole.rows));
}

TEST_CASE("an exhaustive search simulates what the bounds of earlier results excluded",
          "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  search::SearchOptions options{.results = place.folder() / "r.h5", .resume = true};
  FakeWorkers workers(space, 2);
  const analysis::SearchRun first = search::run_search(space, workers, options, {});
  CHECK(std::ranges::count(first.rows, Outcome::bounded_away, &CandidateRow::outcome) > 0);
  FakeWorkers idle_workers(space, 2);
  CHECK(lines(search::run_search(space, idle_workers, options, {}).rows) == lines(first.rows));
  CHECK(idle_workers.simulated.empty());
  options.target.exhaustive = true;
  FakeWorkers exhaustive_workers(space, 2);
  const analysis::SearchRun all = search::run_search(space, exhaustive_workers, options, {});
  CHECK(std::ranges::count(all.rows, Outcome::bounded_away, &CandidateRow::outcome) == 0);
  for (const std::uint64_t candidate : exhaustive_workers.simulated)
    CHECK(std::ranges::count(workers.simulated, candidate) == 0);
  CHECK(best_of(all) == best_of(first));
}

TEST_CASE("a budget ends a search with the results so far", "[search]") {
  const search::Space space = make_space();
  FakeWorkers workers(space, 2);
  const analysis::SearchRun run = search::run_search(space, workers, {.budget_s = 0.0}, {});
  CHECK_FALSE(run.finished);
  CHECK(run.gap == 1);
}

TEST_CASE("workers that die or send nonsense are replaced", "[search]") {
  const search::Space space = make_space();
  FakeWorkers good(space, 1);
  const std::uint64_t best = best_of(search::run_search(space, good, {}, {}));
  FakeWorkers workers(space, 4);
  workers.misbehave = [](std::size_t n, std::string& answer) {
    if (n % 11 == 5) answer = n % 2 == 0 ? "nonsense" : R"({"id":1,"rows":[]})";
    return n % 11 == 5 || n % 13 == 7;
  };
  const analysis::SearchRun run = search::run_search(space, workers, {}, {});
  CHECK(numbers(run.rows) == candidates_of_space(space));
  CHECK(std::ranges::count(run.rows, Outcome::failed, &CandidateRow::outcome) == 0);
  CHECK(best_of(run) == best);
}

TEST_CASE("a search whose workers are all lost ends with its results", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  const search::SearchOptions options{.results = place.folder() / "r.h5"};
  FakeWorkers workers(space, 2);
  workers.restarts = false;
  workers.misbehave = [](std::size_t n, std::string&) { return n > 12; };
  CHECK_THROWS_WITH(search::run_search(space, workers, options, {}),
                    "no worker is left; the last was lost: it was told to");
  CHECK(place.files() == "r.h5");
  const analysis::SearchRun run = analysis::read_results(*options.results);
  CHECK_FALSE(run.finished);
  CHECK(run.rows.size() > 10);
}

TEST_CASE("workers that never become ready are given up", "[search]") {
  const search::Space space = make_space();
  FakeWorkers workers(space, 2);
  workers.misbehave = [](std::size_t n, std::string& answer) {
    answer = n % 2 == 0 ? "usage: pipewright ..." : "";
    return true;
  };
  CHECK_THROWS_WITH(search::run_search(space, workers, {}, {}), Contains("no worker is left"));
}

TEST_CASE("an error that a worker finds in the sweep reaches the user", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  FakeWorkers workers(space, 2);
  workers.misbehave = [](std::size_t, std::string& answer) {
    answer = R"({"error": "no cluster is called 'x'"})";
    return true;
  };
  CHECK_THROWS_WITH(search::ask_facts(workers, "cluster: x"), "no cluster is called 'x'");
  CHECK_THROWS_WITH(search::run_search(space, workers, {.results = place.folder() / "r.h5"}, {}),
                    "no cluster is called 'x'");
  CHECK(place.files().empty());
}

TEST_CASE("the journal of a killed search is not overwritten", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  const search::SearchOptions options{.results = place.folder() / "r.h5"};
  search::Journal(place.folder() / "r.h5.journal", {space.sweep().text, space.axes()})
      .append({tests::made_up_row(space, 0)});
  FakeWorkers workers(space, 2);
  CHECK_THROWS_WITH(search::run_search(space, workers, options, {}),
                    Contains("r.h5.journal") && Contains("1 finished") && Contains("--resume"));
}

TEST_CASE("results of another sweep cannot be continued", "[search]") {
  const search::Space space = make_space();
  const search::Space other_space = make_space("8..32 step 8");
  const tests::CommandFolder place;
  const search::SearchOptions options{.results = place.folder() / "r.h5", .resume = true};
  FakeWorkers workers(space, 2);
  search::run_search(space, workers, options, {});
  FakeWorkers other_workers(other_space, 2);
  CHECK_THROWS_WITH(
      search::run_search(other_space, other_workers, options, {}),
      Contains("r.h5: these are the results of another sweep: line") && Contains("8..32"));
  CHECK(place.files() == "r.h5");
}

TEST_CASE("results with a candidate outside of the sweep are refused", "[search]") {
  const search::Space space = make_space();
  const tests::CommandFolder place;
  const search::SearchOptions options{.results = place.folder() / "r.h5", .resume = true};
  const std::uint64_t candidate = GENERATE(std::uint64_t{0}, std::uint64_t{1} << 60U);
  CandidateRow row = tests::made_up_row(space, 0);
  row.candidate = candidate;
  row.group = candidate == 0 ? 7 : 0;
  search::Journal(place.folder() / "r.h5.journal", {space.sweep().text, space.axes()})
      .append({row});
  FakeWorkers workers(space, 2);
  CHECK_THROWS_WITH(search::run_search(space, workers, options, {}),
                    Contains("is not a combination of this sweep"));
}
