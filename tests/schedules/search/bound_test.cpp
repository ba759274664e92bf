#include "schedules/search/bound.hpp"

#include <catch2/catch.hpp>

#include "schedules/search/search.hpp"
#include "support/pipelines.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

TEST_CASE("with unit passes in a V the bound is that of the paper, 6n + 6p - 3k - 1 cells",
          "[search]") {
  for (std::uint32_t p = 3; p <= 16; ++p)
    for (std::uint32_t k = 2 * ((p + 4) / 3); 2 * k <= 3 * p; ++k) {
      const std::uint32_t n = 3 * p;
      const Pipeline v = tests::pipeline(Routes::v_shape(p), p, n, {1, 1, 1}, 0, k / 2.0);
      CAPTURE(p, k);
      CHECK(2 * lower_bound(v, Objective::makespan) == Approx(6 * n + 6 * p - 3 * k - 1));
    }
}

TEST_CASE("with memory to spare the bound is the work behind the way to the last device",
          "[search]") {
  for (std::uint32_t p = 1; p <= 8; ++p) {
    const auto bound = [&](const Routes& routes, Objective objective) {
      return lower_bound(tests::pipeline(routes, p, 40, {1, 2, 3}, 0.5, 100), objective);
    };
    CHECK(bound(Routes::looped(p, 1), Objective::makespan) == Approx(240 + 1.5 * (p - 1)));
    CHECK(bound(Routes::v_shape(p), Objective::makespan) == Approx(240 + 1.0 * (p - 1)));
    CHECK(bound(Routes::looped(p, 1), Objective::span) == Approx(240));
  }
}

TEST_CASE("one microbatch at a time takes as long as one after the other", "[search]") {
  // Held from F to W: the next microbatch comes when W of the first stage has ended.
  const Pipeline one = tests::pipeline(Routes::looped(4, 1), 4, 8, {1, 1, 1}, 0, 1);
  CHECK(lower_bound(one, Objective::makespan) == Approx(8 * (4 + 4 + 1)));
  CHECK(least_memory(one) == std::vector<std::int64_t>(4, one.memory.held[0]));
}

namespace {

// Each of the three passes takes a second, and half a second is saved where I and W run as one.
Pipeline shorter_whole(std::uint32_t devices, std::uint32_t microbatches) {
  Pipeline result =
      tests::pipeline(Routes::looped(devices, 1), devices, microbatches, {1, 1, 1}, 0.25, 100);
  result.times.of_stage[static_cast<std::size_t>(PassKind::backward)].assign(devices, 1.5);
  return result;
}

}  // namespace

TEST_CASE("the bound is that of whole backwards where these are shorter than their halves",
          "[search]") {
  // 1F1B reaches it: (m + p - 1) (F + B) and the way there and back.
  for (std::uint32_t p = 1; p <= 4; ++p)
    CHECK(lower_bound(shorter_whole(p, 30), Objective::makespan) ==
          Approx((30 + p - 1) * 2.5 + 2 * 0.25 * (p - 1)));
  // With few microbatches split ones win: the first device has 4 s of forwards while its first
  // gradient takes 8.5 s to come, and works for 12 s.
  CHECK(lower_bound(shorter_whole(4, 4), Objective::makespan) == Approx(12 + 8.5 - 4));
}

TEST_CASE("no order that is found is below the bound, with whole backwards or without",
          "[search]") {
  for (const auto& [devices, microbatches] :
       {std::pair{1U, 5U}, {2U, 3U}, {2U, 12U}, {4U, 4U}, {4U, 16U}}) {
    const SearchRequest request{.devices = devices,
                                .microbatches = microbatches,
                                .pipeline = [&, p = devices, m = microbatches](
                                                const Routes& routes) -> std::optional<Pipeline> {
                                  if (routes.stages() != p) return std::nullopt;
                                  return shorter_whole(p, m);
                                }};
    const SearchResult found = search(request, [](const SearchProgress&) { return true; });
    CHECK(lower_bound(request) <= found.makespan * (1 + 1e-12));
    if (devices == 1) CHECK(found.makespan == Approx(microbatches * 2.5));
  }
}
