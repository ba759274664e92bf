#include "sim/search/batches.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/sweep/sweep.hpp"

using namespace pipewright;
using search::Batches;
using search::Space;

namespace {

Space space_of(const std::string& more) {
  return {search::read_sweep(config::read_yaml_text(
              fmt::format("{{forward_times: 1, backward_times: 2, {}}}", more), "the sweep")),
          {{}}};
}

// Returns a search space of 4 x 8 x 2 x 3 candidates.
Space small_space(const std::string& shard = "1/1") {
  return space_of(
      fmt::format("devices: [2, 4, 8, 16], microbatches: 8..64 step 8, p2p: [eager, rendezvous], "
                  "schedule: [1f1b, gpipe, zb-h1], search: {{shard: {}}}",
                  shard));
}

std::vector<std::uint64_t> candidates_of_batches(const Space& space,
                                                 const std::vector<std::uint64_t>& known) {
  Batches batches(
      space, known, 3, [] { return false; }, [] { return false; });
  std::vector<std::uint64_t> candidates;
  for (std::vector<std::uint64_t> batch = batches.next(); !batch.empty(); batch = batches.next())
    candidates.insert(candidates.end(), batch.begin(), batch.end());
  CHECK_FALSE(batches.is_cut_short());
  return candidates;
}

}  // namespace

TEST_CASE("batches have every candidate once, except known ones", "[batches]") {
  const Space space = small_space();
  for (const std::vector<std::uint64_t>& known :
       {std::vector<std::uint64_t>{}, std::vector<std::uint64_t>{0, 5, 100, 191}}) {
    std::vector<std::uint64_t> candidates = candidates_of_batches(space, known);
    std::ranges::sort(candidates);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 192; ++i)
      if (!std::ranges::binary_search(known, i)) expected.push_back(i);
    CHECK(candidates == expected);
  }
}

TEST_CASE("the first batches come from all over the space", "[batches]") {
  const Space space =
      space_of("devices: 1..64, microbatches: 1..64, p2p: [eager, rendezvous], schedule: 1f1b");
  std::vector<std::uint64_t> first = candidates_of_batches(space, {});
  first.resize(first.size() / 10);
  std::set<std::uint64_t> devices;
  for (const std::uint64_t candidate : first) devices.insert(candidate / 128);
  CHECK(devices.size() > 40);
}

TEST_CASE("every candidate is in exactly one shard", "[batches]") {
  std::vector<std::uint64_t> candidates;
  for (int shard = 1; shard <= 5; ++shard) {
    const std::vector<std::uint64_t> part =
        candidates_of_batches(small_space(fmt::format("{}/5", shard)), {});
    CHECK(part.size() > 12);
    CHECK(part.size() < 80);
    candidates.insert(candidates.end(), part.begin(), part.end());
  }
  std::ranges::sort(candidates);
  CHECK(candidates.size() == 192);
  CHECK(std::ranges::adjacent_find(candidates) == candidates.end());
}

TEST_CASE("a space that is too large to be listed is sampled everywhere", "[batches]") {
  const Space space = space_of(
      "devices: 1..200, microbatches: 1..2000, iterations: 1..1000, p2p: [eager, rendezvous, "
      "blocking], schedule: [1f1b, gpipe]");
  CHECK(space.combinations() == 2.4e9);
  const std::vector<std::uint64_t> known;
  int calls = 0;
  Batches batches(
      space, known, 2, [&] { return ++calls > 1; }, [] { return false; });
  std::set<std::uint64_t> seen;
  std::set<std::uint64_t> devices;
  for (int i = 0; i < 300; ++i)
    for (const std::uint64_t candidate : batches.next()) {
      CHECK(seen.insert(candidate).second);
      devices.insert(candidate / (2000ULL * 1000 * 3 * 2));
    }
  CHECK(seen.size() > 1000);
  CHECK(devices.size() > 120);
}

TEST_CASE("neighbours of a promising candidate come soon", "[batches]") {
  const Space space = space_of(
      "devices: 1..200, microbatches: 1..2000, iterations: 1..1000, p2p: [eager, rendezvous, "
      "blocking], schedule: [1f1b, gpipe]");
  const std::vector<std::uint64_t> known;
  int calls = 0;
  Batches batches(
      space, known, 2, [&] { return ++calls > 1; }, [] { return false; });
  const std::vector<std::uint64_t> sizes{200, 2000, 1000, 3, 2};
  const auto digits = [&](std::uint64_t candidate) {
    std::vector<std::uint64_t> values(sizes.size());
    for (std::size_t axis = sizes.size(); axis-- > 0; candidate /= sizes[axis])
      values[axis] = candidate % sizes[axis];
    return values;
  };
  const std::uint64_t promising = 123456789;
  const std::vector<std::uint64_t> centre = digits(promising);
  std::set<std::uint64_t> near;
  std::size_t far = 0;
  for (int i = 0; i < 100; ++i)
    for (const std::uint64_t candidate : batches.next(promising)) {
      const std::vector<std::uint64_t> values = digits(candidate);
      std::size_t changed = 0;
      std::uint64_t farthest = 0;
      for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) {
        changed += values[axis] != centre[axis];
        farthest = std::max(
            farthest, std::max(values[axis], centre[axis]) - std::min(values[axis], centre[axis]));
      }
      if (changed <= 2 && farthest <= 6)
        near.insert(candidate);
      else
        ++far;
    }
  // Neighbours differ in at most two axes: by up to six steps up or down on three axes, or by any
  // value of the fourth. Each combination has two schedules.
  CHECK(near.size() == 2 * (3 * 12 * 12 + 3 * 12 + 2 * (3 * 12 + 1) + 1));
  CHECK(far > 100);
}
