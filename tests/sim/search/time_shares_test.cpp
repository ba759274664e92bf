#include "sim/search/time_shares.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using pipewright::search::TimeShares;

namespace {

constexpr double hour = 3600;

std::vector<std::string> current_and_later(const TimeShares& time) {
  return {time.from_current().begin(), time.from_current().end()};
}

}  // namespace

TEST_CASE("without a limit of time no part is cut short", "[sweep][winner]") {
  TimeShares time(std::nullopt, {"ties", "weeks"}, {});
  time.begin_next();
  CHECK_FALSE(time.is_over());
  CHECK(time.cut_short().empty());
}

TEST_CASE("parts without time are cut short, each once", "[sweep][winner]") {
  TimeShares time(0, {"ties", "changes", "weeks"}, {});
  time.begin_next();
  CHECK(time.is_over());
  CHECK(time.is_over());
  time.begin_next();  // has no work left, and so does not ask
  time.begin_next();
  CHECK(time.is_over());
  CHECK(time.cut_short() == std::vector<std::string>{"ties", "weeks"});
}

TEST_CASE("a part gets an equal share of the time that the parts before it left",
          "[sweep][winner]") {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  constexpr double limit = 0.4;
  TimeShares time(limit, {"first", "second"}, {});
  const auto begin = std::chrono::steady_clock::now();
  const auto wait_for_end = [&] {
    time.begin_next();
    while (!time.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Milliseconds(std::chrono::steady_clock::now() - begin).count();
  };
  // Half of 400 ms each; the machine may be late, but never early.
  CHECK(wait_for_end() >= 199);
  CHECK(wait_for_end() >= 399);
  CHECK(time.cut_short() == std::vector<std::string>{"first", "second"});

  TimeShares unused(hour, {"first", "second"}, {});
  unused.begin_next();
  unused.begin_next();
  CHECK_FALSE(unused.is_over());
}

TEST_CASE("an interrupt ends a part, which is then not cut short by its time", "[sweep][winner]") {
  bool is_interrupted = false;
  TimeShares time(hour, {"ties", "changes", "weeks"}, [&] { return is_interrupted; });
  CHECK(current_and_later(time).size() == 3);
  time.begin_next();
  time.begin_next();
  CHECK_FALSE(time.is_over());
  is_interrupted = true;
  CHECK(time.is_over());
  CHECK(time.cut_short().empty());
  time.begin_next();
  CHECK(current_and_later(time) == std::vector<std::string>{"changes", "weeks"});
}

TEST_CASE("more parts than names are a fault of the program", "[sweep][winner]") {
  TimeShares time(hour, {"ties"}, {});
  time.begin_next();
  CHECK_THROWS_AS(time.begin_next(), std::logic_error);
}
