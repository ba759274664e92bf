#include "tests/schedules/search/exact.hpp"

#include <array>
#include <optional>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/search/bound.hpp"
#include "schedules/search/search.hpp"
#include "support/pipelines.hpp"
#include "support/plans.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

namespace {

enum class Shape { v, looped };
enum class Profile { unit, long_gradients, uneven };

struct Case {
  Shape shape;
  std::uint32_t devices, microbatches;
  Profile profile;
  double hop;          // cells
  std::int64_t limit;  // activations of a stage
  double gap = 0;      // cells, of the heuristic as measured
};

Routes routes_of(const Case& of) {
  return of.shape == Shape::v ? Routes::v_shape(of.devices) : Routes::looped(of.devices, 1);
}

// Pipeline in which a cell takes a second.
Pipeline pipeline_of(const Case& of) {
  const Routes routes = routes_of(of);
  const double chunks = routes.stages() / of.devices;
  std::array<double, 3> times{chunks, chunks, chunks};
  if (of.profile == Profile::long_gradients) times = {2 * chunks, 3 * chunks, chunks};
  Pipeline pipeline = tests::pipeline(routes, of.devices, of.microbatches, times, of.hop,
                                      static_cast<double>(of.limit) / chunks);
  if (of.profile == Profile::uneven) tests::make_uneven(pipeline);
  return pipeline;
}

Plan heuristic(const Case& of) {
  const Routes routes = routes_of(of);
  const SearchRequest request{.devices = of.devices,
                              .microbatches = of.microbatches,
                              .pipeline = [&](const Routes& placement) -> std::optional<Pipeline> {
                                if (placement == routes) return pipeline_of(of);
                                return std::nullopt;
                              }};
  const auto result = search(request, [](const SearchProgress&) { return true; });
  Order order(of.devices);
  for (std::uint32_t device = 0; device < of.devices; ++device)
    for (PassCursor at(result.schedule.programs[device]); !at.done(); at.next())
      order[device].push_back(at.pass());
  return Justifier(pipeline_of(of)).plan(order);
}

constexpr int patience = 60;  // Seconds for one exact solution.

std::string describe(const Case& of) {
  constexpr std::array profiles{"1,1,1", "2,3,1", "uneven"};
  return fmt::format("{:6} p={} m={} {:6} hop {} limit {}", of.shape == Shape::v ? "V" : "looped",
                     of.devices, of.microbatches, profiles[static_cast<std::size_t>(of.profile)],
                     of.hop, of.limit);
}

// Results of the heuristic, the exact model and the bound, in cells.
void compare(const std::vector<Case>& cases) {
  std::string table = "makespan in cells: heuristic, exact, lower bound\n";
  for (const Case& of : cases) {
    const Pipeline pipeline = pipeline_of(of);
    const Plan best = heuristic(of);
    const auto exact = solve_exactly(pipeline, 1, best, patience);
    if (!exact) {
      WARN("skipped: there is no cbc on PATH");
      return;
    }
    const double bound = lower_bound(pipeline, Objective::makespan);
    const std::string line =
        fmt::format("{}: {:3} {:3} {:3}", describe(of), best.makespan, exact->plan.makespan, bound);
    table += line + "\n";
    INFO(line);
    CHECK(exact->proven);
    CHECK(exact->plan.makespan >= bound - 1e-9);
    CHECK(exact->plan.makespan <= best.makespan + 1e-9);
    CHECK(best.makespan - exact->plan.makespan <= of.gap + 1e-9);
    tests::check_runs(pipeline, exact->plan);
  }
  WARN(table);
}

void add(std::vector<Case>& cases, Case of, const std::vector<std::int64_t>& limits) {
  for (const std::int64_t limit : limits) {
    of.limit = limit;
    cases.push_back(of);
  }
}

}  // namespace

TEST_CASE("the search finds the shortest order of unit passes in a V", "[exact]") {
  std::vector<Case> cases;
  add(cases, {Shape::v, 2, 4, Profile::unit, 0, 0}, {2, 3, 4});
  add(cases, {Shape::v, 3, 4, Profile::unit, 0, 0}, {2, 4, 5, 6});
  add(cases, {Shape::v, 4, 4, Profile::unit, 0, 0}, {2, 3, 4, 5, 6, 7, 8});
  add(cases, {Shape::v, 4, 8, Profile::unit, 0, 0}, {5, 6, 7, 8});
  add(cases, {Shape::v, 3, 6, Profile::unit, 1, 0}, {4, 5, 6});
  compare(cases);
}

TEST_CASE("the search is near the shortest order of uneven passes in a V", "[exact]") {
  std::vector<Case> cases{{Shape::v, 3, 4, Profile::uneven, 0, 3, 2},
                          {Shape::v, 3, 4, Profile::uneven, 1, 3, 1},
                          {Shape::v, 3, 4, Profile::uneven, 1, 5},
                          {Shape::v, 4, 4, Profile::uneven, 1, 6, 1}};
  add(cases, {Shape::v, 3, 4, Profile::uneven, 1, 0}, {2, 6});
  add(cases, {Shape::v, 4, 4, Profile::uneven, 1, 0}, {8});
  add(cases, {Shape::v, 3, 4, Profile::uneven, 0, 0}, {2, 4, 5, 6});
  add(cases, {Shape::v, 3, 4, Profile::long_gradients, 0, 0}, {4, 5, 6});
  compare(cases);
}

TEST_CASE("the search finds the shortest order of one chunk per device", "[exact]") {
  std::vector<Case> cases;
  add(cases, {Shape::looped, 2, 8, Profile::unit, 1, 0}, {1, 2, 4});
  add(cases, {Shape::looped, 3, 6, Profile::long_gradients, 0, 0}, {1, 2, 3, 4, 6});
  add(cases, {Shape::looped, 4, 6, Profile::uneven, 1, 0}, {1, 2, 3, 4, 6, 8});
  compare(cases);
}

TEST_CASE("a bad start ends at the same optimum as the search", "[exact]") {
  const Case of =
      GENERATE(Case{Shape::v, 2, 3, Profile::unit, 0, 2}, Case{Shape::v, 3, 4, Profile::unit, 0, 4},
               Case{Shape::v, 2, 4, Profile::uneven, 1, 4},
               Case{Shape::looped, 3, 6, Profile::long_gradients, 0, 2},
               Case{Shape::looped, 4, 6, Profile::uneven, 1, 3},
               Case{Shape::looped, 4, 8, Profile::unit, 1, 4});
  const Pipeline pipeline = pipeline_of(of);
  const Plan start = tests::one_at_a_time(pipeline);
  const auto exact = solve_exactly(pipeline, 1, start, patience);
  if (!exact) {
    WARN("skipped: there is no cbc on PATH");
    return;
  }
  CAPTURE(describe(of), start.makespan, exact->solves);
  CHECK(exact->proven);
  CHECK(exact->plan.makespan < start.makespan);
  CHECK(exact->plan.makespan == Approx(heuristic(of).makespan));
  tests::check_runs(pipeline, exact->plan);
}
