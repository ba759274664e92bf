#include <catch2/catch.hpp>

#include "analysis/units_text.hpp"

using namespace pipewright::analysis;

TEST_CASE("the largest number of a column chooses its scale", "[report]") {
  const ColumnScale ms = time_scale(0.2314, 3);
  CHECK(ms.unit == "ms");
  CHECK(ms(0.2314) == "231");
  CHECK(ms(0.0004) == "0");
  const ColumnScale s = time_scale(2.274, 4);
  CHECK(s.unit == "s");
  CHECK(s(2.274) == "2.274");
  CHECK(s(0.0185) == "0.018");
  CHECK(time_scale(0.9996, 3).unit == "s");
  CHECK(time_scale(0.9994, 3).unit == "ms");
  CHECK(time_scale(12345, 4)(12345) == "12345");
}

TEST_CASE("bytes and rates have their own scales", "[report]") {
  const ColumnScale gib = memory_scale(40.0 * (1ULL << 30));
  CHECK(gib.unit == "GiB");
  CHECK(gib(Range{1.5 * (1ULL << 30), 40.0 * (1ULL << 30)}) == "1.5..40.0");
  CHECK(memory_scale(5)(5) == "5");
  CHECK(rate_scale(86400).unit == "k/s");
  CHECK(rate_scale(86400)(86400) == "86.4");
}

TEST_CASE("a range of numbers that read alike is one number", "[report]") {
  const ColumnScale s = time_scale(2, 3);
  CHECK(s(Range{1.999, 2.001}) == "2.00");
  CHECK(s(Range{1.95, 2}) == "1.95..2.00");
}

TEST_CASE("zero is zero in any scale, and never negative", "[report]") {
  CHECK(time_scale(0, 4)(0) == "0");
  CHECK(time_scale(2, 3)(-1e-12) == "0.00");
  CHECK(time_scale(0, 4).unit == "s");
}
