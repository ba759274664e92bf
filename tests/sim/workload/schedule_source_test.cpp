#include "sim/workload/schedule_source.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::ScheduleCache;

namespace {

// Returns parameters of a schedule for 4 devices in which F, I and W take `seconds` each.
schedules::Parameters parameters(std::uint32_t microbatches, double seconds = 1) {
  schedules::Parameters result{.devices = 4, .microbatches = microbatches};
  for (auto& seconds_of_device : result.device_times.of_stage) seconds_of_device.assign(4, seconds);
  return result;
}

bool has_equal_passes(const schedules::Schedule& left, const schedules::Schedule& right) {
  if (left.devices != right.devices) return false;
  for (std::uint32_t device = 0; device < left.devices; ++device)
    if (schedules::passes_of(left.programs[device]) != schedules::passes_of(right.programs[device]))
      return false;
  return true;
}

}  // namespace

TEST_CASE("a schedule of the same sizes is made once for any pass times", "[schedule cache]") {
  ScheduleCache cache;
  CHECK(cache.load("1f1b", parameters(8)) == cache.load("1f1b", parameters(8, 3)));
  CHECK(cache.load("1f1b", parameters(8)) != cache.load("1f1b", parameters(9)));
  CHECK(cache.load("1f1b", parameters(8)) != cache.load("gpipe", parameters(8)));
  schedules::Parameters chunks = parameters(8);
  chunks.chunks = 2;
  CHECK(cache.load("interleaved-1f1b", chunks)->chunks == 2);
  chunks.chunks = 3;
  CHECK(cache.load("interleaved-1f1b", chunks)->chunks == 3);
}

TEST_CASE("a schedule that is planned for pass times is made for each set of times",
          "[schedule cache]") {
  ScheduleCache cache;
  schedules::Parameters slow_end = parameters(12);
  slow_end.device_times.of_stage[static_cast<int>(schedules::PassKind::forward)].back() = 4;
  for (const char* name : {"zb-1p", "zb-2p"}) {
    const auto even = cache.load(name, parameters(12));
    const auto uneven = cache.load(name, slow_end);
    CHECK(even == cache.load(name, parameters(12)));
    CHECK(even != uneven);
    CHECK(has_equal_passes(*uneven, schedules::make_schedule(name, slow_end)));
  }
}

TEST_CASE("the cache has a limit, and an evicted schedule is made again", "[schedule cache]") {
  ScheduleCache cache(20'000);
  const auto first = cache.load("zb-h1", parameters(8));
  for (std::uint32_t microbatches = 9; microbatches < 60; ++microbatches) {
    cache.load("zb-h1", parameters(microbatches));
    CHECK(cache.bytes() <= 20'000);
  }
  const auto reloaded = cache.load("zb-h1", parameters(8));
  CHECK(first != reloaded);
  CHECK(has_equal_passes(*first, *reloaded));
}

TEST_CASE("sizes that a family rejects are rejected each time", "[schedule cache]") {
  ScheduleCache cache;
  schedules::Parameters odd = parameters(3);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(cache.load("dualpipe", odd), schedules::Error);
}
