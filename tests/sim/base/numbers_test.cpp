#include "sim/base/numbers.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

using pipewright::base::parse_number;

TEST_CASE("a text that is a number and nothing else is parsed", "[base]") {
  CHECK(parse_number<std::uint32_t>("4294967295") == 4294967295U);
  CHECK(parse_number<int>("-7") == -7);
  CHECK(parse_number<double>("2.5e3") == 2500.0);
}

TEST_CASE("a text with anything besides a number is not a number", "[base]") {
  for (const char* const text : {"", " 8", "8 ", "+8", "8x", "x8", "8.5", "0x8"}) {
    CAPTURE(text);
    CHECK(parse_number<int>(text) == std::nullopt);
  }
  CHECK(parse_number<double>("1e") == std::nullopt);
}

TEST_CASE("a number that the type cannot hold is not parsed", "[base]") {
  CHECK(parse_number<std::uint32_t>("4294967296") == std::nullopt);
  CHECK(parse_number<std::uint32_t>("-1") == std::nullopt);
  CHECK(parse_number<double>("1e999") == std::nullopt);
}
