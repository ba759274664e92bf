#include "schedules/search/bound.hpp"

#include <catch2/catch.hpp>

#include "schedules/search/search.hpp"
#include "support/pipelines.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

TEST_CASE("the bound of unit passes in a V is 6n + 6p - 3k - 1 cells, as in the paper",
          "[search]") {
  for (std::uint32_t p = 3; p <= 16; ++p)
    for (std::uint32_t k = 2 * ((p + 4) / 3); 2 * k <= 3 * p; ++k) {
      const std::uint32_t n = 3 * p;
      const Pipeline v = tests::pipeline(Routes::v_shape(p), p, n, {1, 1, 1}, 0, k / 2.0);
      CAPTURE(p, k);
      CHECK(2 * lower_bound(v, Objective::makespan) == Approx(6 * n + 6 * p - 3 * k - 1));
    }
}

TEST_CASE("with enough memory the bound is the path to the last device and its work", "[search]") {
  for (std::uint32_t p = 1; p <= 8; ++p) {
    const auto bound = [&](const Routes& routes, Objective objective) {
      return lower_bound(tests::pipeline(routes, p, 40, {1, 2, 3}, 0.5, 100), objective);
    };
    CHECK(bound(Routes::looped(p, 1), Objective::makespan) == Approx(240 + 1.5 * (p - 1)));
    CHECK(bound(Routes::v_shape(p), Objective::makespan) == Approx(240 + 1.0 * (p - 1)));
    CHECK(bound(Routes::looped(p, 1), Objective::span) == Approx(240));
  }
}

TEST_CASE("with memory for one microbatch the bound is the serial time", "[search]") {
  // Memory for a microbatch is held from F to W, so the first stage has to end W before the next
  // microbatch starts.
  const Pipeline tight = tests::pipeline(Routes::looped(4, 1), 4, 8, {1, 1, 1}, 0, 1);
  CHECK(lower_bound(tight, Objective::makespan) == Approx(8 * (4 + 4 + 1)));
  CHECK(least_memory(tight) == std::vector<std::int64_t>(4, tight.memory.held[0]));
}

namespace {

// Returns a pipeline in which F, I and W take 1 s each, but an undivided backward pass takes 1.5 s,
// half a second less than I and W.
Pipeline shorter_whole(std::uint32_t devices, std::uint32_t microbatches) {
  Pipeline result =
      tests::pipeline(Routes::looped(devices, 1), devices, microbatches, {1, 1, 1}, 0.25, 100);
  result.times.of_stage[static_cast<std::size_t>(PassKind::backward)].assign(devices, 1.5);
  return result;
}

}  // namespace

TEST_CASE("the bound uses whole backwards if they are shorter than their halves", "[search]") {
  // 1F1B reaches the bound: (m + p - 1) (F + B), plus the hops down the pipeline and back.
  for (std::uint32_t p = 1; p <= 4; ++p)
    CHECK(lower_bound(shorter_whole(p, 30), Objective::makespan) ==
          Approx((30 + p - 1) * 2.5 + 2 * 0.25 * (p - 1)));
  // With few microbatches, backward passes split into I and W win: the first device computes for 12
  // s, but only for 4 s before its first gradient arrives at 8.5 s.
  CHECK(lower_bound(shorter_whole(4, 4), Objective::makespan) == Approx(12 + 8.5 - 4));
}

TEST_CASE("no order is below the bound, with whole or split backwards", "[search]") {
  for (const auto& [devices, microbatches] :
       {std::pair{1U, 5U}, {2U, 3U}, {2U, 12U}, {4U, 4U}, {4U, 16U}}) {
    const SearchRequest request{.devices = devices,
                                .microbatches = microbatches,
                                .pipeline = [&, p = devices, m = microbatches](
                                                const Routes& routes) -> std::optional<Pipeline> {
                                  if (routes.stages() != p) return std::nullopt;
                                  return shorter_whole(p, m);
                                }};
    const SearchResult result = search(request, [](const SearchProgress&) { return true; });
    CHECK(lower_bound(request) <= result.makespan * (1 + 1e-12));
    if (devices == 1) CHECK(result.makespan == Approx(microbatches * 2.5));
  }
}
