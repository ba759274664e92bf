#include "analysis/report/units_text.hpp"

#include <limits>

#include <catch2/catch.hpp>

using namespace pipewright::analysis;

TEST_CASE("seconds are shown in a suitable unit", "[report]") {
  CHECK(format_seconds(2.274) == "2.274 s");
  CHECK(format_seconds(0.0185) == "18.50 ms");
  CHECK(format_seconds(531e-6) == "531 us");
  CHECK(format_seconds(5.31e-6) == "5.31 us");
  CHECK(format_seconds(12e-9) == "12.0 ns");
  CHECK(format_seconds(123456.7) == "123457 s");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(-0.0185) == "-18.50 ms");
}

TEST_CASE("seconds that round up to the next unit are shown in it", "[report]") {
  CHECK(format_seconds(0.99994) == "999.9 ms");
  CHECK(format_seconds(0.99996) == "1.000 s");
  CHECK(format_seconds(9.9999) == "10.00 s");
  CHECK(format_seconds(999.6e-6) == "0.9996 ms");  // with the four digits of that scale
}

TEST_CASE("bytes are shown in powers of 1024", "[report]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(25165824) == "24.0 MiB");
  CHECK(format_bytes(43594218045) == "40.6 GiB");
  CHECK(format_bytes((1ULL << 30) - 1) == "1.0 GiB");  // not 1024.0 MiB
  CHECK(format_bytes(std::numeric_limits<std::uint64_t>::max()) == "16.0 EiB");
}

TEST_CASE("ratios are shown in percent", "[report]") {
  CHECK(format_percent(0.109) == "10.9 %");
  CHECK(format_percent(0) == "0.0 %");
  CHECK(format_percent(-1e-17) == "0.0 %");
  CHECK(format_percent(1) == "100.0 %");
}

TEST_CASE("rates have three digits and a decimal prefix", "[report]") {
  CHECK(format_rate(33.8, "samples") == "33.8 samples/s");
  CHECK(format_rate(1.2e6, "tokens") == "1.2 M tokens/s");
  CHECK(format_rate(86432, "tokens") == "86.4 k tokens/s");
  CHECK(format_rate(0.01234, "samples") == "0.0123 samples/s");
  CHECK(format_rate(999.9, "samples") == "1 k samples/s");
  CHECK(format_rate(300, "samples") == "300 samples/s");
  CHECK(format_rate(0, "samples") == "0 samples/s");
}

TEST_CASE("exact sizes are shown in the largest unit that gives a whole number", "[comm]") {
  CHECK(format_exact_bytes(0) == "0 B");
  CHECK(format_exact_bytes(8) == "8 B");
  CHECK(format_exact_bytes(1000) == "1000 B");
  CHECK(format_exact_bytes(1023) == "1023 B");
  CHECK(format_exact_bytes(1024) == "1 KiB");
  CHECK(format_exact_bytes(1536) == "1536 B");
  CHECK(format_exact_bytes(3 << 20) == "3 MiB");
  CHECK(format_exact_bytes(1025 << 10) == "1025 KiB");
  CHECK(format_exact_bytes(std::uint64_t{16} << 30) == "16 GiB");
  CHECK(format_exact_bytes(std::uint64_t{1} << 63) == "8 EiB");
}

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

TEST_CASE("a range whose ends look equal is one number", "[report]") {
  const ColumnScale s = time_scale(2, 3);
  CHECK(s(Range{1.999, 2.001}) == "2.00");
  CHECK(s(Range{1.95, 2}) == "1.95..2.00");
}

TEST_CASE("zero is 0 in any unit, and never negative", "[report]") {
  CHECK(time_scale(0, 4)(0) == "0");
  CHECK(time_scale(2, 3)(-1e-12) == "0.00");
  CHECK(time_scale(0, 4).unit == "s");
}

TEST_CASE("a count has its noun in the plural", "[report]") {
  CHECK(counted(1, "microbatch") == "1 microbatch");
  CHECK(counted(3, "microbatch") == "3 microbatches");
  CHECK(counted(0, "device") == "0 devices");
}
