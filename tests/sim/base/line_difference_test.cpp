#include "sim/base/line_difference.hpp"

#include <catch2/catch.hpp>

using pipewright::base::first_difference;
using pipewright::base::Indentation;

TEST_CASE("the first line in which two texts differ is found", "[base]") {
  const auto difference = first_difference("a\nb\nc\n", "a\nx\ny\n");
  REQUIRE(difference);
  CHECK(difference->number == 2);
  CHECK(difference->left == "b");
  CHECK(difference->right == "x");
}

TEST_CASE("a line that a text lacks differs from an empty line", "[base]") {
  const auto difference = first_difference("a\n", "a\n\n");
  REQUIRE(difference);
  CHECK(difference->number == 2);
  CHECK_FALSE(difference->left);
  CHECK(difference->right == "");
}

TEST_CASE("equal texts have no difference, with or without a newline at the end", "[base]") {
  CHECK_FALSE(first_difference("a\nb\n", "a\nb"));
  CHECK_FALSE(first_difference("", ""));
}

TEST_CASE("indentation differs only where it is compared", "[base]") {
  CHECK(first_difference("  a\n", "a\n"));
  CHECK_FALSE(first_difference("  a\n", "a\n", Indentation::ignored));
}
