#include "analysis/measured/primus_passes.hpp"

#include <catch2/catch.hpp>

#include "analysis/measured/formats.hpp"
#include "analysis/measured/measured_run.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::import_passes;
using analysis::MeasuredRun;
using trace::PassKind;

namespace {

// Writes the dumps of two ranks with two microbatches. F takes 10 ms and B 20 ms; the iteration of
// rank 1 is shorter than that of rank 0.
std::vector<std::filesystem::path> write_ranks(const test::ScratchFolder& folder) {
  const auto iteration = [](double total, const std::string& passes) {
    return R"({"total": )" + std::to_string(total) + R"(, "memory": 10.5, )" + passes +
           R"(, "wgrad_start": [], "wgrad_end": []})";
  };
  const std::string first = iteration(90,
                                      R"("fwd_start": [0.5, 10], "fwd_end": [10, 20],
      "bwd_start": [40, 70], "bwd_end": [60, 90], "fwd_minibatch": [], "bwd_minibatch": [])");
  const std::string second = iteration(75, R"("fwd_start": [10, 40], "fwd_end": [20, 50],
      "bwd_start": [20, 50], "bwd_end": [40, 70])");
  test::write_bytes(folder / "pp_rank_0.json",
                    "{\n  \"1\": " + first + ",\n  \"2\": " + first + "\n}");
  test::write_bytes(folder / "pp_rank_1.json",
                    "{\n  \"1\": " + second + ",\n  \"2\": " + second + "\n}");
  return {folder / "pp_rank_0.json", folder / "pp_rank_1.json"};
}

}  // namespace

TEST_CASE("a pass dump of Primus is a measured run", "[import]") {
  const test::ScratchFolder folder;
  const auto files = write_ranks(folder);
  CHECK(analysis::file_kind(files[0]) == analysis::FileKind::primus_passes);
  const MeasuredRun run = import_passes(files);
  CHECK(run.notes.empty());
  CHECK(run.trace.run.devices == 2);
  CHECK(run.trace.run.microbatches == 2);
  CHECK(run.trace.run.iterations == 2);
  REQUIRE(run.trace.passes.size() == 16);
  CHECK(run.trace.passes[0].end - run.trace.passes[0].start == Approx(9.5e-3));
  // The second iteration begins 90 ms after the first one, when the slowest rank has ended it. Time
  // 0 of the trace is the start of the first pass, 0.5 ms into the iteration.
  CHECK(run.trace.passes.back().device == 1);
  CHECK(run.trace.passes.back().kind == PassKind::backward);
  CHECK(run.trace.passes.back().end == Approx((90 + 70 - 0.5) * 1e-3));
}

TEST_CASE("chunks of a Primus dump are in the interleaved order", "[import]") {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "config.json", R"({"pp_size": 1, "vp_size": 2, "num_mbs": 2})");
  test::write_bytes(
      folder / "pp_rank_0.json",
      R"({"7": {"total": 100, "fwd_start": [0, 10, 20, 30], "fwd_end": [10, 20, 30, 40],
 "bwd_start": [40, 50, 60, 70], "bwd_end": [50, 60, 70, 80]}})");
  const MeasuredRun run = import_passes({folder / "pp_rank_0.json"});
  REQUIRE(run.trace.passes.size() == 8);
  CHECK(run.trace.run.chunks == 2);
  CHECK(run.trace.passes[1].stage == 1);
  CHECK(run.trace.passes[1].microbatch == 0);
  CHECK(run.trace.passes[2].microbatch == 1);
  CHECK(run.trace.passes[4].stage == 1);  // Backward passes begin with the last chunk.
  CHECK(run.trace.passes[7].stage == 0);
}

TEST_CASE("invalid Primus dumps are refused", "[import]") {
  const test::ScratchFolder folder;
  const auto dump_error = [&](const std::string& text) -> std::string {
    test::write_bytes(folder / "pp_rank_0.json", text);
    try {
      analysis::read_primus_passes({folder / "pp_rank_0.json"});
      return "";
    } catch (const trace::TraceError& error) {
      return error.what();
    }
  };
  CHECK_THAT(dump_error(R"({"1": {"total": "x"}})"), Catch::Contains("no number 'total'"));
  CHECK_THAT(dump_error(R"({"x": {"total": 1}})"),
             Catch::Contains("not the number of an iteration"));
  CHECK_THAT(dump_error(R"({"1": {"total": 1, "fwd_start": [1], "fwd_end": []}})"),
             Catch::Contains("'fwd' has 1 starts but 0 ends"));
  CHECK_THAT(
      dump_error(R"({"1": {"total": 1, "fwd_start": [1], "fwd_end": [2], "fwd_chunk": [-1]}})"),
      Catch::Contains("a pass of 'fwd' has the index -1"));
  CHECK_THAT(dump_error(R"({"1": )"), Catch::Contains("not valid JSON"));
  test::write_bytes(folder / "ranks.json", "{}");
  CHECK_THROWS_WITH(analysis::read_primus_passes({folder / "ranks.json"}),
                    Catch::Contains("pp_rank_3.json"));
}
