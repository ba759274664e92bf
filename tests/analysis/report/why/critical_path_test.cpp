#include "analysis/report/why/critical_path.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "analysis/report/why/slack.hpp"
#include "analysis/report/why/time_split.hpp"
#include "tests/analysis/report/why/random_runs.hpp"
#include "tests/analysis/report/why/timed_runs.hpp"

using namespace pipewright;
using analysis::CriticalPart;
using analysis::CriticalPiece;

namespace {

// Checks a trace's critical path: its pieces cover the run without gaps, each compute piece lies on
// a pass, and every piece has a known cause.
void check(const trace::Trace& trace, const std::string& what) {
  INFO(what);
  const std::vector<CriticalPiece> path = analysis::critical_path(trace);
  const double makespan = analysis::summarize(trace).makespan_s;
  REQUIRE(!path.empty());
  REQUIRE(path.front().start == 0);
  REQUIRE(path.back().end == makespan);
  const double tolerance = 1e-8 * makespan + 1e-8;
  bool tiles = true;
  bool passes_ran = true;
  double unknown = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const CriticalPiece& piece = path[i];
    tiles = tiles && piece.start < piece.end && (i == 0 || path[i - 1].end == piece.start);
    const bool computes =
        piece.part == CriticalPart::compute || piece.part == CriticalPart::in_passes;
    passes_ran = passes_ran && computes == (piece.pass != analysis::no_pass);
    if (computes) {
      const trace::PassRow& pass = trace.passes.at(piece.pass);
      passes_ran = passes_ran && pass.device == piece.device && pass.stage == piece.stage &&
                   pass.microbatch == piece.microbatch && piece.start > pass.start - tolerance &&
                   piece.end < pass.end + tolerance;
    }
    if (piece.part == CriticalPart::other) unknown += piece.end - piece.start;
  }
  CHECK(tiles);
  CHECK(passes_ran);
  CHECK(unknown < tolerance);
}

}  // namespace

TEST_CASE("the critical path covers the run without gaps", "[why]") {
  CHECK(tests::random_pipelines(check) > 150);
}

TEST_CASE("the critical path goes through collectives and steps", "[why]") {
  CHECK(tests::random_hybrids(check) > 100);
}

TEST_CASE("the critical path of 1F1B with equal stages is compute alone", "[why]") {
  // The makespan is (m + p - 1) (F + B), as in Narayanan et al. 2021, arXiv 2104.04473, section
  // 2.2.
  const trace::Trace trace = tests::one_f_one_b({1, 1, 1, 1}, 8);
  const auto path = analysis::critical_path(trace);
  CHECK(path.back().end == Approx((8 + 4 - 1) * 3));
  for (const CriticalPiece& piece : path) CHECK(piece.part == CriticalPart::compute);
  const analysis::PathSplit split = analysis::split_path(trace, path);
  CHECK(split.computing_s == Approx(33));
  CHECK(split.communication_s == 0);
  CHECK(split.waiting_s == 0);
  REQUIRE(split.parts.size() == 2);
  CHECK(split.parts[0].kind == trace::PassKind::backward);
  CHECK(split.parts[0].seconds == Approx(22));
  CHECK(split.parts[1].seconds == Approx(11));
}

TEST_CASE("a stage of twice the work dominates the critical path", "[why]") {
  const trace::Trace trace = tests::one_f_one_b({1, 1, 2, 1}, 16);
  const auto path = analysis::critical_path(trace);
  const analysis::PathSplit split = analysis::split_path(trace, path);
  CHECK(split.stages.front().stage == 2);
  // All 16 microbatches of stage 2 are on the path, except for the second forward pass: it runs
  // while stage 3 works on the first microbatch.
  CHECK(split.stages.front().seconds == Approx(16 * 6 - 2));
  CHECK(split.computing_s == Approx(path.back().end));
}

TEST_CASE("the path of one microbatch passes all stages and hops twice", "[why]") {
  const trace::Trace trace = tests::one_f_one_b({1, 1, 1}, 1, 0.25);
  const auto path = analysis::critical_path(trace);
  std::vector<CriticalPart> parts;
  for (const CriticalPiece& piece : path) parts.push_back(piece.part);
  using enum CriticalPart;
  CHECK(parts == std::vector{compute, transfer, compute, transfer, compute, compute, transfer,
                             compute, transfer, compute});
  CHECK(path[1] == CriticalPiece{.part = transfer, .start = 1, .end = 1.25, .device = 1, .row = 0});
  CHECK(path[6].device == 1);
  CHECK(path[6].stage == 2);
  CHECK(path.back().end == Approx(3 * 3 + 4 * 0.25));
}

TEST_CASE("a blocking send is on the critical path", "[why]") {
  // Stage 0 sends activations, and each send blocks it after the forward pass.
  const trace::Trace trace = tests::one_f_one_b({1, 0.01}, 8, 0.5, schedules::P2p::blocking);
  double blocked = 0;
  for (const CriticalPiece& piece : analysis::critical_path(trace))
    if (piece.part == CriticalPart::blocked_send) {
      CHECK(piece.device == 0);
      blocked += piece.end - piece.start;
    }
  CHECK(blocked >= 6 * 0.5);
}

TEST_CASE("a piece of the path has its link and its uncontended duration", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1, 1}, 1, 0.25);
  trace.links = {{.link = 0, .name = "cable_UP", .link_class = "cable", .bandwidth = 1e9}};
  trace.paths = {{.traffic = trace::TrafficClass::activation,
                  .source = 0,
                  .destination = 1,
                  .link = 0,
                  .alone = 0.2}};
  const auto path = analysis::critical_path(trace);
  CHECK(path[1].link == 0);
  CHECK(path[1].alone == 0.2);
  const analysis::PathSplit split = analysis::split_path(trace, path);
  const auto over = std::ranges::find(split.parts, "cable", &analysis::PathShare::link_class);
  REQUIRE(over != split.parts.end());
  CHECK(over->seconds == Approx(0.25));
  CHECK(over->contention_s.value() == Approx(0.05));
}

TEST_CASE("contradictory rows still give a path", "[why]") {
  trace::Trace trace = tests::one_f_one_b({1, 1}, 4);
  for (trace::PassRow& row : trace.passes) {
    row.start = row.end = row.released = 7;  // all at once, in no time
    row.sent = row.ready = 7;
  }
  const auto path = analysis::critical_path(trace);
  REQUIRE(path.size() == 1);
  CHECK(path.front() == CriticalPiece{.part = CriticalPart::other, .start = 0, .end = 7});
}

TEST_CASE("a trace without passes has no path", "[why]") {
  CHECK(analysis::critical_path(trace::Trace{}).empty());
}

TEST_CASE("analyses of arbitrary rows terminate", "[why]") {
  std::mt19937 generator(4242);
  const auto whole = [&](std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(generator);
  };
  for (int round = 0; round < 300; ++round) {
    trace::Trace trace;
    trace.run.p2p = round % 2 == 0 ? "rendezvous" : "blocking";
    trace.run.devices = 3;
    trace.devices.resize(3);
    for (std::uint32_t stage = 0; stage < 4; ++stage)
      trace.stages.push_back({.stage = stage, .device = stage % 3});
    trace.run.chunks = 2;
    const auto times = [&](auto... at) {
      double now = whole(6);
      ((*at = now, now += whole(3)), ...);
    };
    std::vector<double> free(3);
    for (std::uint32_t i = whole(30); i-- > 0;) {
      trace::PassRow row{.device = whole(3),
                         .stage = whole(4),
                         .microbatch = whole(3) * 2'000'000'000U,
                         .iteration = whole(2),
                         .kind = static_cast<trace::PassKind>(whole(5))};
      times(&row.sent, &row.ready);
      row.start = std::max(row.ready, free[row.device]);
      row.end = row.start + whole(3);
      free[row.device] = row.released = row.end + whole(2);
      trace.passes.push_back(row);
    }
    for (std::uint32_t i = whole(10); i-- > 0;) {
      trace::TransferRow row{.destination = whole(3), .stage = whole(4), .microbatch = whole(3)};
      times(&row.posted, &row.start, &row.end);
      trace.transfers.push_back(row);
      trace::CollectiveRow collective{.device = whole(3),
                                      .stage = whole(4),
                                      .kind = static_cast<trace::CollectiveKind>(whole(3))};
      times(&collective.posted, &collective.start, &collective.end);
      trace.collectives.push_back(collective);
      trace::StepRow step{.device = whole(3), .iteration = whole(2)};
      times(&step.start, &step.reduced, &step.synchronized, &step.updated, &step.end);
      trace.steps.push_back(step);
    }
    const auto path = analysis::critical_path(trace);
    double now = 0;
    bool tiles = true;
    for (const CriticalPiece& piece : path) {
      tiles = tiles && piece.start == now && piece.end > piece.start;
      now = piece.end;
    }
    CHECK(tiles);
    if (!path.empty()) CHECK(now == analysis::summarize(trace).makespan_s);
    bool forwards = true;
    for (const analysis::Idle& idle : analysis::idle_times(trace))
      forwards = forwards && idle.end > idle.start && idle.start >= 0;
    CHECK(forwards);
    analysis::time_splits(trace);
    for (const analysis::StageSlack& stage_slack : analysis::slack(trace).stages)
      CHECK(stage_slack.slack >= 0);
  }
}
