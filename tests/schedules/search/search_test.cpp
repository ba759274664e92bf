#include "schedules/search/search.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/search/bound.hpp"
#include "support/pipelines.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

namespace {

bool always(const SearchProgress&) { return true; }

SearchResult search_for(std::uint32_t p, std::uint32_t m, const std::array<double, 3>& times,
                        double hop, double memory, Objective objective, double effort = 1) {
  return search({.devices = p,
                 .microbatches = m,
                 .pipeline =
                     [&](const Routes& routes) {
                       return std::optional(tests::pipeline(routes, p, m, times, hop, memory));
                     },
                 .objective = objective,
                 .effort = effort},
                always);
}

}  // namespace

TEST_CASE("the search reaches the published closed form for unit passes at every memory limit",
          "[search]") {
  for (std::uint32_t p = 3; p <= 16; ++p)
    for (std::uint32_t L = 2 * ((p + 4) / 3); L <= 2 * p; ++L) {
      const std::uint32_t m = 2 * p + 4;
      const auto result = search_for(p, m, {1, 1, 1}, 0, L / 2.0, Objective::span, 0.2);
      CAPTURE(p, L, result.origin);
      CHECK(2 * (result.span - 3 * m) <= Approx(tests::published_cells(p, L)).margin(1e-6));
      CHECK(result.span >= result.lower_bound * (1 - 1e-9));
    }
}

TEST_CASE("the search is never worse than a schedule that fits, and never better than its bound",
          "[search]") {
  std::mt19937 random(7);
  const auto real = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000) / 1000;
  };
  for (int round = 0; round < 40; ++round) {
    const auto p = static_cast<std::uint32_t>(2 + random() % 7);
    const auto m = static_cast<std::uint32_t>(p + random() % (2 * p));
    const std::array<double, 3> times{real(0.5, 2), real(0.5, 2), real(0.2, 2)};
    const double hop = round % 3 == 0 ? 0 : real(0, 0.3);
    const double memory = real(p / 3.0 + 1.5, 2.0 * p);
    const Objective objective = round % 2 == 0 ? Objective::makespan : Objective::span;
    const auto result = search_for(p, m, times, hop, memory, objective, 0.05);
    CAPTURE(p, m, times, hop, memory, result.origin);

    CHECK_NOTHROW(check_complete(result.schedule));
    for (const double held : peak_in_flight(result.schedule)) CHECK(held <= memory + 1e-9);
    const auto again = tests::timed(
        result.schedule, tests::uniform_times(result.schedule, times[0], times[1], times[2]), hop);
    CHECK(again.makespan == Approx(result.makespan));
    const double reached = objective == Objective::span ? result.span : result.makespan;
    CHECK(reached >= result.lower_bound * (1 - 1e-9));

    for (const Entry& entry : catalog()) {
      std::optional<Schedule> fixed;
      try {
        fixed = make_schedule(entry.name, {.devices = p, .microbatches = m});
      } catch (const Error&) {
        continue;
      }
      const auto held = peak_in_flight(*fixed);
      // The search uses one copy of the weights, and whole sequences.
      const bool is_searched = fixed->routes.count() == 1 && fixed->slices == 1;
      if (!is_searched || *std::max_element(held.begin(), held.end()) > memory) continue;
      const auto timed =
          tests::timed(*fixed, tests::uniform_times(*fixed, times[0], times[1], times[2]), hop);
      CAPTURE(entry.name);
      const double busy = m * (times[0] + times[1] + times[2]);
      CHECK(reached <= (objective == Objective::span ? timed.span_bubble + busy : timed.makespan) *
                           (1 + 1e-9));
    }
  }
}

TEST_CASE("the same request finds the same schedule", "[search]") {
  const auto once = search_for(4, 9, {1, 1.3, 0.6}, 0.1, 3, Objective::makespan, 0.1);
  const auto again = search_for(4, 9, {1, 1.3, 0.6}, 0.1, 3, Objective::makespan, 0.1);
  CHECK(once.origin == again.origin);
  CHECK(once.makespan == again.makespan);
  for (std::uint32_t device = 0; device < 4; ++device) {
    PassCursor a(once.schedule.programs[device]);
    PassCursor b(again.schedule.programs[device]);
    for (; !a.done() && !b.done(); a.next(), b.next()) CHECK(a.pass() == b.pass());
    CHECK(a.done() == b.done());
  }
}

TEST_CASE("a stopped search returns its best order so far", "[search]") {
  int calls = 0;
  const auto result =
      search({.devices = 6,
              .microbatches = 20,
              .pipeline =
                  [](const Routes& routes) {
                    return std::optional(tests::pipeline(routes, 6, 20, {1, 1.4, 0.7}, 0.1, 3));
                  },
              .effort = 100},
             [&](const SearchProgress&) { return ++calls < 4; });
  CHECK(result.interrupted);
  CHECK(calls == 4);
  CHECK_NOTHROW(check_complete(result.schedule));
}

TEST_CASE("memory for less than one microbatch is rejected", "[search]") {
  CHECK_THROWS_WITH(search_for(4, 8, {1, 1, 1}, 0, 0.5, Objective::makespan),
                    Catch::Contains("at least the activations of one microbatch"));
}
