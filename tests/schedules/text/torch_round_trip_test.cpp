#include <optional>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"

using namespace pipewright::schedules;

namespace {

void check_same(const Schedule& a, const Schedule& b) {
  CHECK(a.devices == b.devices);
  CHECK(a.chunks == b.chunks);
  CHECK(a.microbatches == b.microbatches);
  REQUIRE(a.stages() == b.stages());
  for (std::uint32_t stage = 0; stage < a.stages(); ++stage)
    CHECK(a.routes.device(stage, 0) == b.routes.device(stage, 0));
  CHECK(torch_passes(a) == torch_passes(b));
}

// Returns nothing if the family does not support the sizes.
std::optional<Schedule> make(const Entry& entry, std::uint32_t devices) {
  try {
    return make_schedule(entry.name, {.devices = devices, .microbatches = 2 * devices});
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool can_be_held(const Schedule& schedule) {
  return schedule.weight_versions == 1 && schedule.routes.count() == 1 && schedule.slices == 1 &&
         schedule.recomputed.empty() && !schedule.braids;
}

}  // namespace

TEST_CASE("schedules survive a round trip through a file", "[torch]") {
  int held = 0;
  for (const Entry& entry : catalog()) {
    for (const std::uint32_t p : {2U, 3U, 4U, 8U}) {
      CAPTURE(entry.name, p);
      const std::optional<Schedule> made = make(entry, p);
      if (!made) continue;
      const Schedule& schedule = *made;
      if (!can_be_held(schedule)) {
        CHECK_THROWS_AS(to_torch_csv(schedule), Error);
        continue;
      }
      ++held;
      const std::string text = to_torch_csv(schedule);
      const TorchFile file = read_torch_csv(text, "same.csv");
      CHECK(file.form == TorchForm::compute_only);
      check_same(schedule, file.schedule);
      CHECK(to_torch_csv(file.schedule) == text);
      for (const Receives receives : {Receives::at_send, Receives::before_pass}) {
        const TorchRows rows = lower(schedule, receives);
        const TorchFile lowered = read_torch_csv(to_torch_csv(rows), "same.csv");
        CHECK(lowered.form == TorchForm::compute_comms);
        CHECK(lowered.rows == rows);
        check_same(schedule, lowered.schedule);
      }
    }
  }
  CHECK(held >= 4 * 4);
}
