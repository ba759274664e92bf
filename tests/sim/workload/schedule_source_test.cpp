#include "sim/workload/schedule_source.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using workload::ScheduleCache;

namespace {

// F = I = W = `seconds` on each device.
schedules::Parameters parameters(std::uint32_t microbatches, double seconds = 1) {
  schedules::Parameters given{.devices = 4, .microbatches = microbatches};
  for (auto& of_device : given.device_times.of_stage) of_device.assign(4, seconds);
  return given;
}

bool same(const schedules::Schedule& one, const schedules::Schedule& other) {
  if (one.devices != other.devices) return false;
  for (std::uint32_t device = 0; device < one.devices; ++device)
    if (schedules::passes_of(one.programs[device]) != schedules::passes_of(other.programs[device]))
      return false;
  return true;
}

}  // namespace

TEST_CASE("a schedule of the same sizes is made once, whatever passes take", "[schedule cache]") {
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

TEST_CASE("a schedule that is planned for times is made for each of them", "[schedule cache]") {
  ScheduleCache cache;
  schedules::Parameters slow_end = parameters(12);
  slow_end.device_times.of_stage[static_cast<int>(schedules::PassKind::forward)].back() = 4;
  for (const char* name : {"zb-1p", "zb-2p"}) {
    const auto even = cache.load(name, parameters(12));
    const auto uneven = cache.load(name, slow_end);
    CHECK(even == cache.load(name, parameters(12)));
    CHECK(even != uneven);
    CHECK(same(*uneven, schedules::make_schedule(name, slow_end)));
  }
}

TEST_CASE("what is kept has an end, and what fell out is made again", "[schedule cache]") {
  ScheduleCache cache(20'000);
  const auto first = cache.load("zb-h1", parameters(8));
  for (std::uint32_t microbatches = 9; microbatches < 60; ++microbatches) {
    cache.load("zb-h1", parameters(microbatches));
    CHECK(cache.bytes() <= 20'000);
  }
  const auto again = cache.load("zb-h1", parameters(8));
  CHECK(first != again);
  CHECK(same(*first, *again));
}

TEST_CASE("sizes that a family refuses are refused each time", "[schedule cache]") {
  ScheduleCache cache;
  schedules::Parameters odd = parameters(3);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(cache.load("dualpipe", odd), schedules::Error);
}
