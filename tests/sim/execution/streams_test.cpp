#include "sim/execution/streams.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "support/random.hpp"

using namespace pipewright;
using execution::paired_seconds;
using execution::StreamWork;

TEST_CASE("a fused pair takes the longest of its streams and chains", "[streams]") {
  constexpr double no_slowdown = 1;
  // Compute of 4 and 8 s is longer than dispatch of 2 s each, which is hidden but slows compute
  // down.
  const StreamWork forward{.compute = 4, .dispatch = 2, .exposed = 2};
  const StreamWork backward{.compute = 8, .dispatch = 2, .exposed = 2};
  CHECK(paired_seconds(forward, backward, no_slowdown) == 12);
  CHECK(paired_seconds(forward, backward, 1.25) == Approx(12 + 4 * 0.2));
  // If dispatch takes longer than all compute, the pair takes as long as dispatch.
  CHECK(paired_seconds({.compute = 1, .dispatch = 5, .exposed = 5},
                       {.compute = 2, .dispatch = 5, .exposed = 5}, 1.25) == 10);
  // One pass has most of the compute and of the dispatch, so its steps have to wait for each other.
  const StreamWork small{.compute = 1, .dispatch = 0.5, .exposed = 0.5};
  StreamWork large{.compute = 2, .dispatch = 9, .exposed = 9};
  CHECK(paired_seconds(small, large, no_slowdown) == 11);
  large.apart = 1;  // weight gradients do not wait
  CHECK(paired_seconds(small, large, no_slowdown) == 10);
  CHECK(paired_seconds({.compute = 3}, {.compute = 6}, 2) == 9);
}

TEST_CASE("a fused pair is no shorter than its bounds and no longer than both passes",
          "[streams]") {
  tests::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto random_work = [&] {
      StreamWork work{.compute = random.real(0, 3), .dispatch = random.real(0, 3)};
      work.exposed = random.flip() ? work.dispatch : random.real(0, work.dispatch);
      work.exposed = std::max(work.exposed, work.dispatch - work.compute);
      if (random.flip()) work.apart = random.real(0, work.compute);
      return work;
    };
    const StreamWork a = random_work();
    const StreamWork b = random_work();
    const double slowdown = random.flip() ? 1 : random.real(1, 1.5);
    const double pair = paired_seconds(a, b, slowdown);
    constexpr double rounding = 1e-12;
    CHECK(pair >= std::max({a.compute + b.compute, a.dispatch + b.dispatch, a.alone() - a.apart,
                            b.alone() - b.apart}) *
                      (1 - rounding));
    CHECK(pair <= a.alone() + b.alone());
    CHECK(pair == paired_seconds(b, a, slowdown));
    // Checks that a pair with more work of any kind never takes less time.
    CHECK(paired_seconds(StreamWork{a.compute + 1, a.dispatch, a.exposed, a.apart}, b, slowdown) >=
          pair);
    CHECK(paired_seconds(StreamWork{a.compute, a.dispatch + 1, a.exposed + 1, a.apart}, b,
                         slowdown) >= pair);
  }
}

TEST_CASE("attention runs beside combine, and experts beside dispatch", "[streams]") {
  // Passes are divided into halves: attention with 3 s of dispatch, and experts with 3 s. Attention
  // of 2 and 4 s hides dispatch. Experts of 1 and 2 s do not, as each pass waits for its own
  // tokens.
  const execution::StreamHalves forward{StreamWork{.compute = 2, .dispatch = 1.5, .exposed = 1.5},
                                        StreamWork{.compute = 1, .dispatch = 1.5, .exposed = 1.5}};
  const execution::StreamHalves backward{StreamWork{.compute = 4, .dispatch = 1.5, .exposed = 1.5},
                                         StreamWork{.compute = 2, .dispatch = 1.5, .exposed = 1.5}};
  CHECK(paired_seconds(forward, backward, 1) == 6 + 3.5);
  // Without the division into halves, compute of both passes would hide all dispatch.
  const StreamWork all_forward{.compute = 3, .dispatch = 3, .exposed = 3};
  const StreamWork all_backward{.compute = 6, .dispatch = 3, .exposed = 3};
  CHECK(paired_seconds(all_forward, all_backward, 1) == 9);
}
