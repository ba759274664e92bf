#include "schedules/families/catalog.hpp"

#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;

namespace {

// Lists small sizes of schedules: devices, microbatches, and those of chunks, slices and so on that
// the catalog entry has as parameters.
std::vector<schedules::Parameters> small_sizes(const schedules::Entry& entry) {
  std::vector<schedules::Parameters> sizes;
  for (std::uint32_t p = 1; p <= 7; ++p)
    for (std::uint32_t m : {1U, 2U, 3U, 6U, 7U, 14U, 17U})
      for (std::uint32_t chunks = 1;
           chunks <= (entry.takes(&schedules::Parameters::chunks) ? 3U : 1U); ++chunks)
        for (std::uint32_t slices = 1;
             slices <= (entry.takes(&schedules::Parameters::slices) ? 3U : 1U); ++slices) {
          sizes.push_back({.devices = p, .microbatches = m, .iterations = 2});
          if (entry.takes(&schedules::Parameters::chunks)) sizes.back().chunks = chunks;
          if (entry.takes(&schedules::Parameters::slices)) sizes.back().slices = slices;
          if (!entry.takes(&schedules::Parameters::fused)) continue;
          sizes.push_back(sizes.back());
          sizes.back().fused = 1;
        }
  return sizes;
}

}  // namespace

TEST_CASE("every schedule of the catalog is complete and never deadlocks", "[catalog]") {
  for (const schedules::Entry& entry : schedules::catalog()) {
    bool splits_backward = false;
    for (const schedules::Parameters& parameters : small_sizes(entry)) {
      const std::uint32_t p = parameters.devices;
      const std::uint32_t m = parameters.microbatches;
      CAPTURE(entry.name, p, m, parameters.chunks.value_or(1), parameters.slices.value_or(1));
      std::optional<schedules::Schedule> schedule;
      try {
        schedule = entry.make(parameters);
      } catch (const schedules::Error& error) {
        // A family may refuse sizes only if microbatches are fewer than two per device, devices or
        // microbatches are odd, units of microbatches incomplete, or fused pairs have one chunk on
        // several devices.
        CHECK((m < 2 * p || p % 2 == 1 || m % 2 == 1 || m % p != 0 ||
               (parameters.fused == 1U && p > 1 && parameters.chunks.value_or(1) == 1)));
        CHECK_THAT(error.what(), Catch::StartsWith(std::string(entry.name)));
        continue;
      }
      CHECK(schedule->name == entry.name);
      // The loss of layers that are divided among stages is one stage more on device 0.
      CHECK((schedule->stages() - (schedule->routes.divides_layers() ? 1 : 0)) % p == 0);
      CHECK(schedule->routes == entry.placement(parameters));
      splits_backward = splits_backward || schedules::splits_backward(*schedule);
      CHECK_NOTHROW(schedules::check_complete(*schedule));
      const auto times = tests::uniform_times(*schedule, 1, 1, 1);
      for (const auto mode : {schedules::P2p::eager, schedules::P2p::rendezvous,
                              schedules::P2p::blocking, schedules::P2p::steady})
        CHECK(tests::timed(*schedule, times, 0.25, mode).makespan >= 3 * 2 * m * (1 - 1e-12));
    }
    INFO(entry.name << ": .whole_backward of its row is true if it never splits B into I and W");
    CHECK(entry.whole_backward == !splits_backward);
  }
}

TEST_CASE("the catalog's names are distinct and each has a line of help", "[catalog]") {
  std::set<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog()) {
    CHECK(names.insert(entry.name).second);
    CHECK(entry.help.size() > 10);
    CHECK(entry.help.size() < 90);
  }
}

TEST_CASE("an impossible schedule is rejected with a reason", "[catalog]") {
  CHECK_THROWS_WITH(make_schedule("2f2b", {.devices = 2, .microbatches = 2}),
                    Catch::Contains("no schedule is called '2f2b'") && Catch::Contains("1f1b, "));
  CHECK_THROWS_WITH(make_schedule("1f1b", {.devices = 0, .microbatches = 2}),
                    "1f1b: at least 1 device is needed");
  CHECK_THROWS_WITH(make_schedule("1f1b", {.devices = 2, .microbatches = 0}),
                    "1f1b: at least 1 microbatch is needed");
  CHECK_THROWS_WITH(
      make_schedule("1f1b", {.devices = 2, .microbatches = 2, .chunks = 3}),
      Catch::Contains("takes no number of chunks") && Catch::Contains("interleaved-1f1b"));
  CHECK_THROWS_WITH(make_schedule("gpipe", {.devices = 2, .microbatches = 2, .group_size = 2}),
                    Catch::Contains("takes no group size"));
  CHECK_THROWS_WITH(make_schedule("1f1b", {.devices = 70000, .microbatches = 2}),
                    Catch::Contains("70000 devices are more than the 16384"));
  CHECK_THROWS_WITH(
      make_schedule("interleaved-1f1b", {.devices = 8192, .microbatches = 2, .chunks = 9}),
      Catch::Contains("73728 stages are more than the 65535"));
  CHECK_THROWS_WITH(make_schedule("1f1b", {.devices = 64, .microbatches = 2000000000}),
                    Catch::Contains("256000000000 passes are more than"));
}

// Tests 65,536 microbatches in place of a million, because some families plan every pass, which
// takes long.
TEST_CASE("a million microbatches take no more memory than a hundred", "[catalog]") {
  for (const schedules::Entry& entry : schedules::catalog()) {
    const auto loops = [&](std::uint32_t m) {
      std::size_t passes = 0;
      for (const auto& program : entry.make({.devices = 8, .microbatches = m}).programs)
        for (const auto& loop : program.loops) passes += loop.body.size();
      return passes;
    };
    CAPTURE(entry.name);
    CHECK(loops(1U << 16U) <= loops(128));
  }
}

TEST_CASE("schedules reject the choices that they do not take", "[catalog]") {
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    INFO(info.key);
    std::size_t takers = 0;
    for (const schedules::Entry& entry : schedules::catalog()) {
      if (entry.takes(info.choice)) {
        ++takers;
        continue;
      }
      schedules::Parameters parameters{.devices = 4, .microbatches = 8};
      parameters.*info.choice = 2;
      CHECK_THROWS_WITH(make_schedule(entry.name, parameters),
                        Catch::Contains("takes no " + std::string(info.noun)));
    }
    CHECK(takers > 0);
  }
}
