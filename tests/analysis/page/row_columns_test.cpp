#include "analysis/page/row_columns.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "analysis/page/binary_text.hpp"
#include "tests/analysis/page/unpacking.hpp"
#include "tests/analysis/timeline/fused_trace.hpp"
#include "tests/analysis/timeline/one_f_one_b_trace.hpp"

namespace pipewright::analysis {
namespace {

constexpr double per_s = 1e12;

void check_round_trip(const trace::Trace& trace) {
  const test::Unpacked rows = test::unpack(row_columns(trace, per_s), trace.devices.size());
  std::vector<std::size_t> next(trace.devices.size());
  for (const trace::PassRow& pass : trace.passes) {
    const test::Unpacked::Pass& read = rows.passes.at(pass.device).at(next[pass.device]++);
    REQUIRE(read.start == std::llround(pass.start * per_s));
    REQUIRE(read.end == std::llround(pass.end * per_s));
    REQUIRE(read.released == std::llround(pass.released * per_s));
    REQUIRE(read.ready == std::llround(pass.ready * per_s));
    REQUIRE(read.kind == static_cast<int>(pass.kind));
    REQUIRE(read.stage == pass.stage);
    REQUIRE(read.chunk == pass.chunk);
    REQUIRE(read.microbatch == pass.microbatch);
    REQUIRE(read.iteration == pass.iteration);
  }
  for (std::size_t device = 0; device < next.size(); ++device)
    CHECK(rows.passes[device].size() == next[device]);
}

}  // namespace

TEST_CASE("passes come back from their columns") {
  check_round_trip(test::one_f_one_b_trace({}));
  check_round_trip(test::one_f_one_b_trace({.split_backward = true, .blocked_s = 0.3e-3}));
  trace::Trace chunked = test::one_f_one_b_trace({.devices = 3, .microbatches = 20});
  for (trace::PassRow& pass : chunked.passes) {
    pass.chunk = pass.microbatch % 4;
    pass.stage += 3 * pass.chunk;
    pass.iteration = pass.microbatch / 10;
  }
  check_round_trip(chunked);
  check_round_trip(test::fused_trace());
  check_round_trip({});
}

TEST_CASE("a periodic run takes less than two bytes a pass") {
  const trace::Trace run = test::one_f_one_b_trace({.devices = 8, .microbatches = 512});
  CHECK(gzip(row_columns(run, 1e10)).size() < 2 * run.passes.size());
}

}  // namespace pipewright::analysis
