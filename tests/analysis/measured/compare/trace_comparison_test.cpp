#include "analysis/measured/compare/trace_comparison.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::compare_passes;
using analysis::figures_of;
using analysis::Moves;
using analysis::RunFigures;
using trace::PassKind;

namespace {

Moves compare(const trace::Trace& first, const trace::Trace& second) {
  RunFigures a = figures_of(first, "a");
  RunFigures b = figures_of(second, "b");
  return compare_passes(a, b);
}

}  // namespace

TEST_CASE("a run compared with itself has no moved passes", "[compare]") {
  const Moves moves = compare(test::two_device_run(), test::two_device_run());
  CHECK(moves.not_comparable.empty());
  CHECK(moves.matched == 8);
  CHECK(moves.unmoved == 8);
  CHECK(moves.later + moves.earlier + moves.longer + moves.shorter == 0);
  CHECK(moves.only_first + moves.only_second + moves.on_other_device == 0);
  CHECK_FALSE(moves.first.has_value());
  CHECK(moves.largest.empty());
  CHECK(moves.kinds.size() == 4);
}

TEST_CASE("moved passes are counted as by hand", "[compare]") {
  trace::Trace later = test::two_device_run();
  // The last two passes of device 1 start a second later, and the last takes half as long. The last
  // pass of device 0 therefore starts two seconds later.
  for (const std::size_t i : {4U, 6U}) {
    later.passes[i].start += 1;
    later.passes[i].end += 1;
    later.passes[i].released += 1;
  }
  later.passes[6].end -= 1;
  for (double* const time : {&later.passes[7].ready, &later.passes[7].start, &later.passes[7].end,
                             &later.passes[7].released})
    *time += 2;
  const Moves moves = compare(test::two_device_run(), later);
  CHECK(moves.matched == 8);
  CHECK(moves.later == 3);
  CHECK(moves.earlier == 0);
  CHECK(moves.unmoved == 5);
  CHECK(moves.shorter == 1);
  REQUIRE(moves.first.has_value());
  CHECK(moves.first->pass == analysis::PassKey{0, 1, 1, PassKind::forward});
  CHECK(moves.first->first_start == 4.5);
  CHECK(moves.first->second_start == 5.5);
  REQUIRE(moves.largest.size() == 3);
  CHECK(moves.largest[0].pass.stage == 0);
  CHECK(moves.largest[0].shift() == 2);
  const analysis::KindChange& backward = moves.kinds.at(3);
  CHECK(backward.stage == 1);
  CHECK(backward.kind == PassKind::backward);
  CHECK(backward.passes == 2);
  CHECK(backward.first_length == 2);
  CHECK(backward.second_length == 1.5);
  CHECK(backward.mean_shift == 0.5);
}

TEST_CASE("swapping the runs reverses the comparison", "[compare]") {
  trace::Trace changed = test::two_device_run();
  changed.passes[7].start += 0.5;
  changed.passes[7].end += 1;
  changed.passes[7].released += 1;
  changed.passes.pop_back();
  changed.passes[1].start = 1.25;
  const Moves there = compare(test::two_device_run(), changed);
  const Moves back = compare(changed, test::two_device_run());
  CHECK(there.matched == back.matched);
  CHECK(there.later == back.earlier);
  CHECK(there.shorter == back.longer);
  CHECK(there.only_first == back.only_second);
  CHECK(there.only_first == 1);
}

TEST_CASE("a later start of the whole run moves no pass", "[compare]") {
  trace::Trace shifted = test::two_device_run();
  for (trace::PassRow& pass : shifted.passes) {
    pass.start += 100;
    pass.end += 100;
    pass.released += 100;
  }
  CHECK(compare(test::two_device_run(), shifted).unmoved == 8);
}

TEST_CASE("runs with other stages or slices have no passes in common", "[compare]") {
  trace::Trace more = test::two_device_run();
  more.stages.push_back({2, 1, 0});
  more.run.chunks = 2;
  more.passes[7].stage = 2;
  CHECK_THAT(compare(test::two_device_run(), more).not_comparable,
             Catch::Contains("the numbers of stages differ: 2 and 3"));
  trace::Trace sliced = test::two_device_run();
  sliced.run.slices = 2;
  CHECK_THAT(compare(test::two_device_run(), sliced).not_comparable, Catch::Contains("slices"));
}

TEST_CASE("a run without passes can be compared", "[compare]") {
  trace::Trace none = test::two_device_run();
  none.passes.clear();
  none.stages.clear();
  CHECK(compare(none, none).matched == 0);
}
