#include "analysis/report/search/search_report.hpp"

#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "analysis/report/search/search_runs.hpp"
#include "analysis/report/search/search_tables.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// Returns a search with five candidates: two are simulated, the other three are excluded by their
// bound, illegal, or too large for memory.
SearchRun small_search() {
  SearchRun run;
  run.title = "a model";
  run.axes = {{"parallel.tp", "tp", {"1", "2", "4"}}, {"schedule", "schedule", {"1f1b", "zb-1p"}}};
  run.groups = {"a model on a cluster"};
  run.combinations = 1006;
  run.excluded = {{"tp <= 4", 1000}};
  run.finished = true;
  run.rows = {simulated_row(0, 1.5, 40 * gib), simulated_row(1, 1, 60 * gib),
              simulated_row(2, 3, 50 * gib), simulated_row(4, 1, 90 * gib),
              simulated_row(5, 1, 99 * gib)};
  run.rows[2].outcome = Outcome::bounded_away;
  run.rows[2].time_s = 0;
  run.rows[3].outcome = Outcome::illegal;
  run.rows[3].note = "tp 4 does not divide 6 heads";
  run.rows[4].outcome = Outcome::does_not_fit;
  run.rows[4].note = "device 0 would hold 99.0 GiB of 80.0 GiB";
  return run;
}

}  // namespace

TEST_CASE("a search report names the sweep, the best candidate and its proof") {
  const std::string text = search_report(small_search());
  CHECK_THAT(
      text,
      Contains(
          "a model: a model on a cluster, batch 16 x 1024, throughput\n1,006 combinations of tp "
          "(3), schedule (2)\n"));
  CHECK_THAT(text, Contains("best: tp 1, schedule zb-1p\n"
                            "  16.4 k tokens/s, 40.0 % MFU, iteration 1.000 s, bubble 20.0 %, "
                            "memory 60.0 of 80.0 GiB\n"
                            "  proven: nothing in the sweep is better\n"));
}

TEST_CASE("a search report counts outcomes, each with a reason and an example") {
  const std::string text = search_report(small_search());
  CHECK_THAT(text, Contains("1,000  excluded by rules\n"));
  CHECK_THAT(text, Contains("1,000      tp <= 4\n"));
  CHECK_THAT(text, Contains("    1  illegal\n"
                            "    1      tp 4 does not divide 6 heads\n"
                            "             for example tp 4, schedule 1f1b\n"));
  CHECK_THAT(text, Contains("    1  bounded away\n"));
  CHECK_THAT(text, Contains("    2  simulated, 66.7 % of the candidates that fit\n"));
}

TEST_CASE("a search report says how to lift the rules of a stack that refuses candidates") {
  const std::string hint = "search.rules: off lifts the rules of the stack\n";
  SearchRun run = small_search();
  CHECK_THAT(search_report(run), !Contains("search.rules"));
  run.rows[3].note = "torchtitan refuses this job: its pipelines do not run dualpipe";
  CHECK_THAT(search_report(run),
             Contains("    1      torchtitan refuses this job: its pipelines do not run dualpipe\n"
                      "             for example tp 4, schedule 1f1b\n"
                      "           " +
                      hint));
  // The last line also helps if nothing was found.
  for (CandidateRow& row : run.rows) {
    row.outcome = Outcome::illegal;
    row.note = run.rows[3].note;
  }
  CHECK_THAT(search_report(run),
             Contains("nothing was found: no candidate is legal\n") && Contains(hint));
}

TEST_CASE("a search report explains the loss of the runner-up") {
  CHECK_THAT(search_report(small_search()),
             Contains("runner-up: schedule 1f1b (best: zb-1p)\n"
                      "  33.3 % behind, +500.0 ms for the same work, -20.0 GiB memory\n"
                      "    +30.0 % compute, +10.0 % bubble, +5.0 % collectives in passes, "
                      "+2.5 % gradients, +1.0 % p2p,\n"
                      "    +1.0 % optimizer, +0.5 % weights\n"));
}

TEST_CASE("a search report lists the best candidates in a table above their common values") {
  CHECK_THAT(search_report(small_search()),
             Contains("best 2 of 2 simulated candidates\n"
                      "          behind  tokens   MFU  iteration  bubble  memory  used\n"
                      "schedule       %     k/s     %          s       %     GiB     %\n"
                      "zb-1p       best    16.4  40.0      1.000    20.0    60.0    75\n"
                      "1f1b        33.3    10.9  26.7      1.500    20.0    40.0    50\n"
                      "common values: tp 1\n"));
}

TEST_CASE("the best candidate has its expected error", "[search]") {
  SearchRun run = small_search();
  run.rows[1].evidence = {
      "b200",
      {"flops"},
      {.low = -0.1, .high = 0.2, .nominal = 0.9, .basis = "b200, bf16, dense, nemo-2", .rows = 12}};
  CHECK_THAT(search_report(run),
             Contains("  16.4 k tokens/s, 40.0 % MFU, iteration 1.000 s, bubble 20.0 %, memory "
                      "60.0 of 80.0 GiB\n"
                      "  expected error -10 .. +20 % (90 % of 12 measured runs: b200, bf16, dense, "
                      "nemo-2)\n"));
}

TEST_CASE("the best by an axis names values without a simulated candidate") {
  const std::string text = best_by_text(small_search(), 0);
  CHECK_THAT(text, Contains("tp 2: at best"));
  CHECK_THAT(text, Contains("tp 4: none fits\n"));
}

TEST_CASE("the proof states how much better other candidates can be") {
  SearchRun run = small_search();
  const auto proof = [&] { return proof_text(run, find(run)); };
  run.exhaustive = true;
  CHECK(proof() == "proven: all candidates that fit were simulated");
  run.exhaustive = run.finished = false;
  CHECK(proof() == "stopped: nothing in the sweep is better, but fronts may lack points");
  run.gap = 0.018;
  CHECK(proof() == "stopped: nothing can be more than 1.8 % better");
  run.gap = 1;
  CHECK(proof() == "stopped early: unexamined candidates may be better");
  for (CandidateRow& row : run.rows) row.outcome = Outcome::open;
  CHECK(proof() == "stopped before anything was proven");
}

TEST_CASE("the report of a shard makes no claim about other shards") {
  SearchRun run = small_search();
  run.shard = {2, 3};
  run.combinations += 14;
  const std::string text = search_report(run);
  CHECK_THAT(text, Contains("best of shard 2/3: tp 1, schedule zb-1p\n") &&
                       Contains("proven: nothing in shard 2/3 of the sweep is better; other shards "
                                "were not examined\n") &&
                       Contains("   15  in other shards, not examined\n"));
  run.exhaustive = true;
  CHECK_THAT(proof_text(run, find(run)),
             Contains("all candidates of shard 2/3 that fit were simulated; "));
  run.finished = run.exhaustive = false;
  run.gap = 0.5;
  CHECK_THAT(proof_text(run, find(run)), Contains("nothing of shard 2/3 can be more than 50.0 %"));
  run.rows.clear();
  run.finished = true;
  CHECK_THAT(search_report(run), Contains("there are no candidates in shard 2/3\n"));
}

TEST_CASE("the report of a stopped search counts unexamined combinations", "[search]") {
  SearchRun run = small_search();
  run.combinations += 1234;
  run.finished = false;
  run.gap = 1;
  CHECK_THAT(search_report(run), Contains("1,235  not examined\n"));
  run.rows.clear();
  CHECK_THAT(search_report(run, {.by = {0}}),
             Contains("nothing was found: the search was stopped before a candidate was "
                      "simulated\n") &&
                 Contains("1,240  not examined\n") && Contains("tp 2: none examined\n"));
  run.finished = true;
  CHECK_THAT(search_report(run), !Contains("not examined"));
}

TEST_CASE("fronts compare iterations and are omitted unless the search proves them") {
  SearchRun run = small_search();
  CHECK_THAT(search_report(run), Contains("\nthroughput against memory: "));
  run.objective = {.kind = Objective::Kind::tokens_a_day};
  CHECK_THAT(search_report(run), Contains("\nthroughput of an iteration against memory: "));
  run.fronts = false;
  CHECK_THAT(search_report(run), !Contains("against memory"));
  CHECK(find(run).fronts == std::vector<std::vector<std::size_t>>(1));
}

TEST_CASE("the objective memory is shown once, and its floor only if there is one") {
  SearchRun run = small_search();
  run.objective = {.kind = Objective::Kind::memory};
  CHECK_THAT(search_report(run), Contains("a model on a cluster, batch 16 x 1024, memory\n") &&
                                     Contains("\n  memory 40.0 of 80.0 GiB, 10.9 k tokens/s, ") &&
                                     Contains("bubble 20.0 %\n"));
  run.objective.floor = 1;
  CHECK_THAT(search_report(run), Contains("memory with at least 1 tokens/s"));
}

TEST_CASE("a runner-up with another number of GPUs is compared by GPU time") {
  SearchRun run = small_search();
  run.objective = {.kind = Objective::Kind::mfu};
  // Twice the GPUs in 0.6 of the time use 1.2 times the GPU time.
  run.rows[0] = simulated_row(0, 0.6, 60 * gib);
  run.rows[0].work.gpus = 2 * run.rows[1].work.gpus;
  run.rows[0].work.peak_flops = 2 * run.rows[1].work.peak_flops;
  CHECK_THAT(
      search_report(run),
      Contains(fmt::format("  16.7 % behind, on {} GPUs (best: {})\n"
                           "    GPU time for the same work: +12.0 % compute, +4.0 % bubble, ",
                           run.rows[0].work.gpus, run.rows[1].work.gpus)));
  CHECK(compare_wall_time(run, 1, 0).seconds == Approx(-0.4));
  CHECK(compare_rows(run, 1, 0).seconds == Approx(0.2));
}

TEST_CASE("the best for each number of GPUs is listed although it is not an axis") {
  SearchRun run = small_search();
  run.rows[0].work.gpus = 4;
  run.rows[1].work.gpus = 16;
  run.rows[2].work.gpus = 32;
  run.rows[3].work.gpus = 0;  // unknown, as for illegal candidates
  run.rows[4].work.gpus = 64;
  const std::string text = search_report(run, {.by = {}, .by_gpus = true});
  CHECK_THAT(text, Contains("\nbest simulated candidate for each number of GPUs\n") &&
                       Contains("\n   4  1f1b        33.3    10.9 ") &&
                       Contains("\n  16  zb-1p       best    16.4 ") &&
                       Contains("gpus 32: at best") && Contains("gpus 64: none fits\n"));
}

TEST_CASE("a count of one has a singular noun") {
  SearchRun run = small_search();
  run.combinations = 1;
  run.rows[0].outcome = run.rows[1].outcome = run.rows[2].outcome = Outcome::illegal;
  for (std::size_t i = 0; i < 4; ++i) run.rows[i].note = std::string(i + 1, 'x');
  CHECK_THAT(search_report(run), Contains("\n1 combination of ") && Contains("1 other reason\n"));
}

TEST_CASE("a failed candidate that may be better is named") {
  SearchRun run = small_search();
  run.rows[2].outcome = Outcome::failed;
  run.rows[2].bound_s = 0.9;
  run.rows[2].note = "its process was killed";
  CHECK_THAT(search_report(run),
             Contains("  1 failed candidate may be better, such as tp 2, schedule 1f1b; "
                      "--resume retries\n"));
  run.rows[2].bound_s = 1.1;
  CHECK_THAT(search_report(run), !Contains("may be better"));
}

TEST_CASE("a report without a best candidate names the reason and the nearest candidate") {
  SearchRun run = small_search();
  run.rows.erase(run.rows.begin(), run.rows.begin() + 3);
  CHECK_THAT(search_report(run),
             Contains("nothing was found: no candidate fits; the nearest, tp 4, schedule zb-1p, "
                      "holds 99.0 of 80.0 GiB\n"));
  run.rows.pop_back();
  CHECK_THAT(search_report(run), Contains("nothing was found: no candidate is legal\n"));
  run.rows.clear();
  CHECK_THAT(search_report(run), Contains("nothing was found: there are no candidates\n"));
  run = small_search();
  run.objective = {.kind = Objective::Kind::memory, .floor = 1e9};
  CHECK_THAT(search_report(run), Contains("are below the floor"));
}

TEST_CASE("names and notes are made safe for a terminal") {
  SearchRun run = small_search();
  run.title += "\x1b[31m";
  run.axes[0].name = "t\x07p";
  run.axes[1].values[1] = "zb\n\x1b]0;x";
  run.groups = {"a\tb", "c"};
  run.excluded[0].rule = "x\x1b";
  run.rows[3].note = std::string(500, 'y') + "\x1b";
  run.objective = {.kind = Objective::Kind::price, .tokens = 1, .price_per_gpu_hour = 1};
  run.objective.currency = "\x1b$";
  const std::string text = search_report(run, {.by = {0, 1}});
  CHECK(text.find_first_of("\x1b\x07\t") == std::string::npos);
}

TEST_CASE("lines of a search report fit a terminal") {
  std::istringstream lines(search_report(sample_search(3), {.by = {1, 2}}));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("an axis is found by its name or key") {
  const SearchRun run = small_search();
  CHECK(axis_named(run.axes, "tp") == 0);
  CHECK(axis_named(run.axes, "parallel.tp") == 0);
  CHECK_THROWS_WITH(axis_named(run.axes, "dp"),
                    "'dp' is not an axis of the search; axes: tp, schedule");
}

TEST_CASE("counts are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(1e18) == "1e+18");
}
