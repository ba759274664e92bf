#include "sim/execution/common_window.hpp"

#include <catch2/catch.hpp>

using pipewright::execution::CommonWindow;

TEST_CASE("the window opens when every job has finished an iteration", "[together]") {
  CommonWindow window({{0, 1}, {5, 1}}, 1);
  window.ended(0, 0, 2);
  window.ended(0, 1, 4);
  CHECK_FALSE(window.is_open());
  window.ended(1, 0, 1);  // at 6 s
  CHECK(window.is_open());
  window.ended(0, 2, 6);
  CHECK(window.first(0) == 2);
  CHECK(window.first(1) == 0);
}

TEST_CASE("the window closes when every job has finished enough iterations in it", "[together]") {
  CommonWindow window({{0, 1}, {0, 1}}, 2);
  window.ended(0, 0, 1);
  window.ended(1, 0, 1);
  window.ended(0, 1, 2);
  window.ended(0, 2, 3);
  window.ended(1, 1, 4);
  CHECK_FALSE(window.is_over());
  window.ended(1, 2, 7);
  CHECK(window.is_over());
}

TEST_CASE("an iteration ends when it has ended on all copies of all devices", "[together]") {
  CommonWindow window({{0, 3}}, 1);
  window.ended(0, 0, 1);
  window.ended(0, 1, 5);  // a device that is ahead
  window.ended(0, 0, 3);
  CHECK(window.ends(0).empty());
  window.ended(0, 0, 2);
  CHECK(window.ends(0) == std::vector<double>{3});
}

TEST_CASE("after the window a job finishes the iterations that a device has begun", "[together]") {
  CommonWindow window({{0, 2}}, 1);
  CHECK(window.enter(0, 0));
  CHECK(window.enter(0, 2));
  for (const std::uint32_t iteration : {0U, 0U, 1U, 1U}) window.ended(0, iteration, iteration + 1);
  REQUIRE(window.is_over());
  CHECK(window.enter(0, 2));
  CHECK_FALSE(window.enter(0, 3));
}
