#include "analysis/measured/waits.hpp"

#include <catch2/catch.hpp>

#include "analysis/measured/measured_run.hpp"
#include "analysis/report/summary.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::import_chrome;
using analysis::ImportOptions;
using analysis::MeasuredRun;
using test::ChromeText;

namespace {

// Writes the profiles of two ranks that communicate over gloo. F takes 10 ms and B 20 ms, but each
// is recorded with its wait for input, which arrives `latency_ms` after the end of the other rank's
// pass. Times of the single microbatch, in ms:
// rank 0   F 0..10                      B 10..(50 + 2 latency)
// rank 1   F 0..(20 + latency)   B ..(40 + latency)
std::vector<std::filesystem::path> write_gloo(const test::ScratchFolder& folder, double latency_ms,
                                              bool receives, double offset_ms = 0) {
  const auto add = [](ChromeText& text, const char* name, double from_ms, double to_ms,
                      double off) {
    text.add(name, 1000 * (from_ms + off), 1000 * (to_ms - from_ms), "user_annotation", 77, 77);
  };
  const double l = latency_ms;
  ChromeText first;
  add(first, "PP:0F0", 0, 10, 0);
  add(first, "PP:0B0", 10, 60 + 2 * l, 0);
  ChromeText second;
  add(second, "PP:1F0", 0, 20 + l, offset_ms);
  add(second, "PP:1B0", 20 + l, 40 + l, offset_ms);
  if (receives) {
    add(first, "gloo:recv", 10, 40 + 2 * l, 0);
    add(second, "gloo:recv", 0, 10 + l, offset_ms);
  }
  test::write_bytes(folder / "a.json", first.text(0, "gloo"));
  test::write_bytes(folder / "b.json", second.text(1, "gloo"));
  return {folder / "a.json", folder / "b.json"};
}

double length(const trace::PassRow& pass) { return pass.end - pass.start; }

}  // namespace

TEST_CASE("the time before the input of a pass arrives is a wait", "[import]") {
  const test::ScratchFolder folder;
  for (const bool align : {false, true}) {
    const MeasuredRun run = import_chrome(write_gloo(folder, 0, false), {.align = align});
    const auto& passes = run.trace.passes;
    REQUIRE(passes.size() == 4);
    CHECK(length(passes[1]) == Approx(20e-3));
    CHECK(length(passes[2]) == Approx(10e-3));
    // Without its waits, each rank is busy for 30 of the 60 ms.
    CHECK(analysis::summarize(run.trace).bubble_ratio == Approx(0.5));
    REQUIRE(run.notes.size() == (align ? 3 : 2));
    for (const std::string& note : run.notes) CHECK_THAT(note, !Catch::Contains("--align"));
    CHECK_THAT(run.notes[align ? 1 : 0],
               Catch::Contains("rank 0 waits for input within 1 pass: 30.00 ms"));
  }
}

TEST_CASE("the input of a pass arrives at the end of a receive that the CPU waited for",
          "[import]") {
  const test::ScratchFolder folder;
  const MeasuredRun run = import_chrome(write_gloo(folder, 2, true));
  CHECK(length(run.trace.passes[1]) == Approx(20e-3));
  CHECK(length(run.trace.passes[2]) == Approx(8e-3 + 2e-3));
  CHECK(*run.handover_s == Approx(2e-3));
}

TEST_CASE("a note suggests to align clocks if a pass ends before its input arrives", "[import]") {
  const test::ScratchFolder folder;
  const MeasuredRun run = import_chrome(write_gloo(folder, 0, false, -500));
  REQUIRE_FALSE(run.notes.empty());
  CHECK_THAT(run.notes[0], Catch::Contains("the clocks of rank 0 and rank 1 do not agree") &&
                               Catch::Contains("--align"));
  const MeasuredRun aligned = import_chrome(write_gloo(folder, 0, false, -500), {.align = true});
  for (const std::string& note : aligned.notes) CHECK_THAT(note, !Catch::Contains("--align"));
}

TEST_CASE("early starts that no shift explains are waits for any kind of mark", "[import]") {
  const test::ScratchFolder folder;
  ChromeText first;
  first.add("fwd_0", 0, 10, "mine").add("bwd_0", 10, 50, "mine");
  ChromeText second;
  second.add("fwd_0", 0, 20, "mine").add("bwd_0", 20, 20, "mine");
  test::write_bytes(folder / "a.json", first.text(0));
  test::write_bytes(folder / "b.json", second.text(1));
  const MeasuredRun run =
      import_chrome({folder / "a.json", folder / "b.json"}, {.category = "mine"});
  CHECK(length(run.trace.passes[1]) == Approx(20e-6));
  CHECK(length(run.trace.passes[2]) == Approx(10e-6));
}
