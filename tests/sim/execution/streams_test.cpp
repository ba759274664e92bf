#include "sim/execution/streams.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "support/random.hpp"

using namespace pipewright;
using execution::paired_seconds;
using execution::StreamWork;

TEST_CASE("a fused pair takes the longest of its streams and chains", "[streams]") {
  constexpr double alone = 1;
  // Compute of 4 and 8 hides 2 of tokens each, but for what these slow it down.
  const StreamWork forward{.compute = 4, .dispatch = 2, .exposed = 2};
  const StreamWork backward{.compute = 8, .dispatch = 2, .exposed = 2};
  CHECK(paired_seconds(forward, backward, alone) == 12);
  CHECK(paired_seconds(forward, backward, 1.25) == Approx(12 + 4 * 0.2));
  // Tokens take longer than all compute,
  CHECK(paired_seconds({.compute = 1, .dispatch = 5, .exposed = 5},
                       {.compute = 2, .dispatch = 5, .exposed = 5}, 1.25) == 10);
  // or one pass has most of both: they wait for each other.
  const StreamWork little{.compute = 1, .dispatch = 0.5, .exposed = 0.5};
  StreamWork much{.compute = 2, .dispatch = 9, .exposed = 9};
  CHECK(paired_seconds(little, much, alone) == 11);
  much.apart = 1;  // but for weight gradients
  CHECK(paired_seconds(little, much, alone) == 10);
  CHECK(paired_seconds({.compute = 3}, {.compute = 6}, 2) == 9);
}

TEST_CASE("a fused pair is as long as each of its bounds, and never longer than both passes",
          "[streams]") {
  tests::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto work = [&] {
      StreamWork one{.compute = random.real(0, 3), .dispatch = random.real(0, 3)};
      one.exposed = random.flip() ? one.dispatch : random.real(0, one.dispatch);
      one.exposed = std::max(one.exposed, one.dispatch - one.compute);
      if (random.flip()) one.apart = random.real(0, one.compute);
      return one;
    };
    const StreamWork a = work();
    const StreamWork b = work();
    const double slowdown = random.flip() ? 1 : random.real(1, 1.5);
    const double pair = paired_seconds(a, b, slowdown);
    constexpr double rounding = 1e-12;
    CHECK(pair >= std::max({a.compute + b.compute, a.dispatch + b.dispatch, a.alone() - a.apart,
                            b.alone() - b.apart}) *
                      (1 - rounding));
    CHECK(pair <= a.alone() + b.alone());
    CHECK(pair == paired_seconds(b, a, slowdown));
    // More of anything is never less.
    CHECK(paired_seconds(StreamWork{a.compute + 1, a.dispatch, a.exposed, a.apart}, b, slowdown) >=
          pair);
    CHECK(paired_seconds(StreamWork{a.compute, a.dispatch + 1, a.exposed + 1, a.apart}, b,
                         slowdown) >= pair);
  }
}

TEST_CASE("attention goes beside combination, and experts beside dispatch", "[streams]") {
  // Of each pass both halves; tokens take 3 in each. Attention of 2 and 4 hides them; experts of 1
  // and 2 do not, where each waits for its own tokens.
  const execution::StreamHalves forward{StreamWork{.compute = 2, .dispatch = 1.5, .exposed = 1.5},
                                        StreamWork{.compute = 1, .dispatch = 1.5, .exposed = 1.5}};
  const execution::StreamHalves backward{StreamWork{.compute = 4, .dispatch = 1.5, .exposed = 1.5},
                                         StreamWork{.compute = 2, .dispatch = 1.5, .exposed = 1.5}};
  CHECK(paired_seconds(forward, backward, 1) == 6 + 3.5);
  // All in one half, it would be the compute of both.
  const StreamWork all_forward{.compute = 3, .dispatch = 3, .exposed = 3};
  const StreamWork all_backward{.compute = 6, .dispatch = 3, .exposed = 3};
  CHECK(paired_seconds(all_forward, all_backward, 1) == 9);
}
