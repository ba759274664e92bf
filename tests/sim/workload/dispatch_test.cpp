#include "sim/workload/dispatch.hpp"

#include <bit>
#include <set>

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::Dispatch;
using workload::parts_visited;

namespace {

// Counts by brute force: every set of `top_k` experts is counted once for each choice of
// `top_groups` groups that contain it.
double counted_visits(const Dispatch& dispatch, std::uint32_t parts) {
  const std::uint32_t experts_per_group = dispatch.experts / dispatch.groups;
  double visits = 0;
  double draws = 0;
  for (std::uint32_t groups = 0; groups < 1U << dispatch.groups; ++groups) {
    if (std::popcount(groups) != static_cast<int>(dispatch.top_groups)) continue;
    for (std::uint32_t experts = 0; experts < 1U << dispatch.experts; ++experts) {
      if (std::popcount(experts) != static_cast<int>(dispatch.top_k)) continue;
      std::set<std::uint32_t> visited;
      bool open = true;
      for (std::uint32_t expert = 0; expert < dispatch.experts; ++expert) {
        if ((experts >> expert & 1U) == 0) continue;
        open = open && (groups >> (expert / experts_per_group) & 1U) != 0;
        visited.insert(expert * parts / dispatch.experts);
      }
      if (!open) continue;
      ++draws;
      visits += static_cast<double>(visited.size());
    }
  }
  return visits / draws;
}

}  // namespace

TEST_CASE("tokens visit as many ranks and nodes as enumeration gives", "[dispatch]") {
  const auto [experts, top_k, groups, top_groups] =
      GENERATE(table<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>({{8, 1, 1, 1},
                                                                                  {8, 2, 1, 1},
                                                                                  {12, 4, 1, 1},
                                                                                  {8, 2, 4, 2},
                                                                                  {12, 3, 4, 2},
                                                                                  {12, 3, 2, 1},
                                                                                  {16, 4, 4, 3}}));
  const Dispatch dispatch{
      .experts = experts, .top_k = top_k, .groups = groups, .top_groups = top_groups};
  for (const std::uint32_t parts : {1U, 2U, 4U, experts})
    CHECK(parts_visited(dispatch, parts) == Approx(counted_visits(dispatch, parts)));
}

TEST_CASE("DeepSeek-V3's tokens go to at most four of eight nodes", "[dispatch]") {
  const Dispatch limited{.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4};
  const Dispatch free{.experts = 256, .top_k = 8};
  CHECK(parts_visited(limited, 8) < 4);
  CHECK(parts_visited(limited, 8) > 3.6);
  CHECK(parts_visited(free, 8) == Approx(5.2947).epsilon(1e-4));
  CHECK(parts_visited(free, 256) == Approx(8));
  CHECK(parts_visited(limited, 256) == Approx(8));
}

TEST_CASE("tokens that choose experts in turn go to the ranks of consecutive experts",
          "[dispatch]") {
  const auto dispatch_in_turn = [](std::uint32_t experts, std::uint32_t top_k) {
    return workload::dispatch_of({.count = experts, .top_k = top_k},
                                 {.dispatcher = config::Dispatcher::deepep, .round_robin = true});
  };
  // Eight consecutive experts belong to one rank of sixteen or of eight, and to two ranks of four.
  CHECK(parts_visited(dispatch_in_turn(128, 8), 8) == Approx(1));
  CHECK(parts_visited(dispatch_in_turn(128, 8), 16) == Approx(1));
  CHECK(parts_visited(dispatch_in_turn(128, 8), 32) == Approx(2));
  // Six of 128 count as six of a group of eight.
  CHECK(parts_visited(dispatch_in_turn(128, 6), 8) == Approx(1));
}
