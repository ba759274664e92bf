#include "analysis/report/statistics.hpp"

#include <catch2/catch.hpp>

using pipewright::analysis::quantile;

TEST_CASE("a quantile lies between the values around it", "[quantile]") {
  CHECK(quantile({3}, 0.9) == 3);
  CHECK(quantile({2, 1}, 0.5) == 1.5);
  CHECK(quantile({5, 1, 3}, 0.5) == 3);
  CHECK(quantile({4, 1, 2, 3, 5}, 0.9) == Approx(4.6));
  CHECK(quantile({4, 1, 2, 3, 5}, 0) == 1);
  CHECK(quantile({4, 1, 2, 3, 5}, 1) == 5);
}
