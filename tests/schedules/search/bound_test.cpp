#include "schedules/search/bound.hpp"

#include <catch2/catch.hpp>

#include "support/pipelines.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

TEST_CASE("with unit passes in a V the bound is that of the paper, 6n + 6p - 3k - 1 cells",
          "[search]") {
  for (std::uint32_t p = 3; p <= 16; ++p)
    for (std::uint32_t k = 2 * ((p + 4) / 3); 2 * k <= 3 * p; ++k) {
      const std::uint32_t n = 3 * p;
      const Pipeline v = tests::pipeline(Routes::v_shape(p), p, n, {1, 1, 1}, 0, k / 2.0);
      CAPTURE(p, k);
      CHECK(2 * lower_bound(v, Objective::makespan) == Approx(6 * n + 6 * p - 3 * k - 1));
    }
}

TEST_CASE("with memory to spare the bound is the work behind the way to the last device",
          "[search]") {
  for (std::uint32_t p = 1; p <= 8; ++p) {
    const auto bound = [&](const Routes& routes, Objective objective) {
      return lower_bound(tests::pipeline(routes, p, 40, {1, 2, 3}, 0.5, 100), objective);
    };
    CHECK(bound(Routes::looped(p, 1), Objective::makespan) == Approx(240 + 1.5 * (p - 1)));
    CHECK(bound(Routes::v_shape(p), Objective::makespan) == Approx(240 + 1.0 * (p - 1)));
    CHECK(bound(Routes::looped(p, 1), Objective::span) == Approx(240));
  }
}

TEST_CASE("one microbatch at a time takes as long as one after the other", "[search]") {
  // Held from F to W: the next microbatch comes when W of the first stage has ended.
  const Pipeline one = tests::pipeline(Routes::looped(4, 1), 4, 8, {1, 1, 1}, 0, 1);
  CHECK(lower_bound(one, Objective::makespan) == Approx(8 * (4 + 4 + 1)));
  CHECK(least_memory(one) == std::vector<std::int64_t>(4, one.memory.held[0]));
}
