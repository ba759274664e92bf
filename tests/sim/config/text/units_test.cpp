#include "sim/config/text/units.hpp"

#include <locale>
#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

double seconds_of(std::string_view text) { return parse_time(text, "x", "a time"); }
std::uint64_t bytes_of(std::string_view text) { return parse_size(text, "x", "a size"); }
double share_of(std::string_view text) { return parse_share(text, "x", "a share"); }
double number_of(std::string_view text) { return parse_positive_number(text, "x", "a number"); }

constexpr std::uint64_t two_to_63 = std::uint64_t{1} << 63;

TEST_CASE("times are read in all units, with or without a space") {
  const auto [text, seconds] = GENERATE(table<std::string, double>({
      {"18.5 ms", 0.0185},
      {"18.5ms", 0.0185},
      {"18.5 \t ms", 0.0185},
      {"0.535 ms", 0.000535},
      {"1e-3 s", 0.001},
      {"1E3ms", 1.0},
      {"5 us", 5e-6},
      {"5 \u00b5s", 5e-6},
      {"5\u03bcs", 5e-6},
      {"7 ns", 7e-9},
      {"2", 2.0},
      {"0.8", 0.8},
      {".5", 0.5},
      {"3.", 3.0},
      {"0", 0.0},
      {"-0", 0.0},
      {"1e9", 1e9},
  }));
  CAPTURE(text);
  CHECK(seconds_of(text) == seconds);
  CHECK_FALSE(std::signbit(seconds_of(text)));
}

TEST_CASE("other spellings of a unit suggest the same unit, not the closest by letters") {
  const auto [text, meant] = GENERATE(table<std::string, std::string>({
      {"3 sec", "did you mean 's'?"},
      {"2 hours", "did you mean 'h'?"},
  }));
  CHECK_THAT(error_of([&] { seconds_of(text); }), Catch::Contains(meant));
  CHECK_THAT(error_of([] { parse_bandwidth("94 Gbps", "x", "a bandwidth"); }),
             Catch::Contains("did you mean 'Gbit/s'?"));
}

TEST_CASE("sizes are read in decimal and binary units, exactly") {
  const auto [text, bytes] = GENERATE(table<std::string, std::uint64_t>({
      {"0", 0},
      {"17", 17},
      {"17 B", 17},
      {"1 kB", 1000},
      {"3MB", 3'000'000},
      {"4 GB", 4'000'000'000},
      {"5 TB", 5'000'000'000'000},
      {"1 KiB", 1024},
      {"24 MiB", 24U << 20U},
      {"80GiB", std::uint64_t{80} << 30U},
      {"2 TiB", std::uint64_t{2} << 40U},
      {"1.5 KiB", 1536},
      {"1.3 kB", 1300},
      {"0.3 KiB", 307},
      {"1e9", 1'000'000'000},
      {"9007199254740993", 9007199254740993},  // 2^53 + 1 is no double
      {"9007199254740993 kB", 9007199254740993000},
      {"9223372036854775808", two_to_63},
      {"8388608 TiB", two_to_63},
      {"8388608.0 TiB", two_to_63},
  }));
  CAPTURE(text);
  CHECK(bytes_of(text) == bytes);
}

TEST_CASE("shares are in percent and plain numbers have no unit") {
  CHECK(share_of("40 %") == 0.4);
  CHECK(share_of("40%") == 0.4);
  CHECK(share_of("12.5%") == 0.125);
  CHECK(share_of("0 %") == 0);
  CHECK(share_of("100 %") == 1);
  CHECK(number_of("3072") == 3072);
  CHECK(number_of("0.25") == 0.25);
}

TEST_CASE("texts that are no time are refused with their text") {
  const std::string allowed = "; allowed: a time from 0 to 1e9 s, such as 18.5 ms";
  const auto text = GENERATE(as<std::string>(), "-3 ms", "-1", "nan", "inf", "-inf", "infinity s",
                             "1e999", "abc", "", " 3", "+3", "ms", "-", ".");
  CAPTURE(text);
  const bool numeric = text.find_first_of("-+.1") == 0;
  const bool is_word = text == "nan" || text == "inf";
  const std::string found = text.empty()         ? "an empty text"
                            : numeric || is_word ? text
                                                 : fmt::format("the text '{}'", text);
  CHECK(error_of([&] { seconds_of(text); }) == "x is " + found + allowed);
}

TEST_CASE("an error about a unit lists the valid units") {
  CHECK(error_of([] { seconds_of("3 GB"); }) ==
        "x is 3 GB, and 'GB' is no unit of a time; allowed: a time from 0 to 1e9 s, such as 18.5 "
        "ms; in s, ms, us, \u00b5s, \u03bcs, ns, min, h, d (a bare number is in seconds)");
  CHECK(error_of([] { bytes_of("24 mib"); }) ==
        "x is 24 mib, and 'mib' is no unit of a size; allowed: a size from 0 to 2^63 bytes, such "
        "as 24 MiB; in B, kB, MB, GB, TB, KiB, MiB, GiB, TiB (a bare number is in bytes)");
  CHECK(error_of([] { share_of("0.4"); }) ==
        "x is 0.4 without a unit; allowed: a share from 0 % to 100 %, such as 40 %; in % (a share "
        "is in percent)");
  CHECK(error_of([] { number_of("3 s"); }) ==
        "x is 3 s, and 's' is no unit of a number; allowed: a number > 0, such as 3; without a "
        "unit (it is a bare number)");
  const auto text = GENERATE(as<std::string>(), "1,5 ms", "1 000 ms", "3 MS", "3 m s", "3 s ",
                             "0x10", "1_000", "3 w", "3e", "18.5 ms ms", "18.5.5", "3 \u00b5");
  CAPTURE(text);
  CHECK_THAT(error_of([&] { seconds_of(text); }), Catch::Contains(" is no unit of a time; "));
}

TEST_CASE("numbers beyond the range of their kind are refused") {
  const std::string size_allowed = "; allowed: a size from 0 to 2^63 bytes, such as 24 MiB";
  for (const std::string text :
       {"9223372036854775809", "18446744073709551616", "99999999999999999999999", "8388609 TiB",
        "8388608.1 TiB", "1e19", "9223372036854775809 B", "9999999999999999 kB"}) {
    CAPTURE(text);
    CHECK(error_of([&] { bytes_of(text); }) == fmt::format("x is {}{}", text, size_allowed));
  }
  CHECK(error_of([] { bytes_of("-1"); }) == "x is -1" + size_allowed);
  CHECK(error_of([] { bytes_of("1.5"); }) ==
        "x is 1.5; allowed: a size in whole bytes, such as 24 MiB");
  CHECK(error_of([] { share_of("100.1 %"); }) ==
        "x is 100.1 %; allowed: a share from 0 % to 100 %, such as 40 %");
  CHECK(error_of([] { number_of("0"); }) == "x is 0; allowed: a number > 0, such as 3");
}

TEST_CASE("the locale plays no part") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  CHECK(seconds_of("1.5 ms") == 0.0015);
  CHECK(bytes_of("1.5 KiB") == 1536);
  CHECK_THAT(error_of([] { bytes_of("-12345.5"); }), Catch::Contains("-12345.5"));
  std::locale::global(before);
}

TEST_CASE("any time written in milliseconds reads as the nearest double") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> milliseconds(0, 1e4);
  for (int i = 0; i < 10'000; ++i) {
    const double ms = milliseconds(random);
    REQUIRE(seconds_of(fmt::format("{} ms", ms)) == ms / 1e3);
    REQUIRE(seconds_of(fmt::format("{:e}us", ms)) == Approx(ms / 1e6).epsilon(1e-6));
  }
}

TEST_CASE("any whole number of bytes survives") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bytes = random() >> (1 + random() % 63);
    REQUIRE(bytes_of(fmt::format("{}", bytes)) == bytes);
    REQUIRE(bytes_of(fmt::format("{} KiB", bytes >> 10U)) == bytes >> 10U << 10U);
  }
}

}  // namespace
}  // namespace pipewright::config::test
