#include <algorithm>
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/text/picture.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/timing.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::PassKind;
using tests::timed;
using tests::uniform_times;

namespace {

schedules::Schedule make(const std::string& name, std::uint32_t p, std::uint32_t m,
                         std::uint32_t barriers, std::uint32_t iterations = 1) {
  return schedules::make_schedule(
      name, {.devices = p, .microbatches = m, .iterations = iterations, .barriers = barriers});
}

// Returns the passes of a device, such as "F0 S0 B0 T0"; the chunks of V-Half are a and b.
std::string order(const schedules::Schedule& schedule, std::uint32_t device) {
  std::string text;
  for (const schedules::Pass& pass : schedules::passes_of(schedule.programs[device])) {
    if (!text.empty()) text += ' ';
    text += schedules::letter(pass.kind) + std::to_string(pass.microbatch);
    if (schedule.chunks > 1 && !is_of_vocabulary(pass.kind))
      text += schedule.routes.chunk(pass.stage, pass.microbatch) == 0 ? 'a' : 'b';
  }
  return text;
}

schedules::PassTimes with_outputs(const schedules::Schedule& schedule, double output,
                                  double output_grad) {
  schedules::PassTimes times = uniform_times(schedule, 1, 1, 1);
  times[PassKind::output].assign(schedule.stages(), output);
  times[PassKind::output_grad].assign(schedule.stages(), output_grad);
  return times;
}

double peak(const schedules::Schedule& schedule) {
  return std::ranges::max(schedules::peak_in_flight(schedule));
}

}  // namespace

// Made by the function of vocab_parallel_schedule.py in sail-sg/VocabularyParallelism, whose calls
// were recorded. Orders for 2 to 16 devices and 4 to 32 microbatches were compared likewise.
TEST_CASE("1F1B with a split vocabulary has the order of the authors' program", "[vocabulary]") {
  const auto one = make("1f1b", 4, 8, 1);
  CHECK(order(one, 0) ==
        "F0 F1 F2 F3 S0 F4 T0 S1 T1 S2 T2 S3 B0 F5 T3 S4 B1 F6 T4 S5 B2 F7 T5 S6 B3 T6 S7 B4 B5 B6 "
        "B7 T7");
  CHECK(order(one, 3) ==
        "F0 S0 F1 B0 T0 S1 F2 B1 T1 S2 F3 B2 T2 S3 F4 B3 T3 S4 F5 B4 T4 S5 F6 B5 T5 S6 F7 B6 T6 S7 "
        "B7 T7");
  const auto two = make("1f1b", 4, 8, 2);
  CHECK(order(two, 0) ==
        "F0 F1 F2 F3 S0 F4 T0 S1 F5 T1 S2 T2 S3 T3 S4 B0 F6 T4 S5 B1 F7 T5 S6 B2 T6 S7 B3 T7 B4 B5 "
        "B6 B7");
  CHECK(order(two, 2) ==
        "F0 F1 S0 F2 T0 S1 F3 T1 S2 B0 T2 S3 F4 B1 T3 S4 F5 B2 T4 S5 F6 B3 T5 S6 F7 B4 T6 S7 B5 T7 "
        "B6 B7");
}

// Made by passes.py of branch v-half-vocab of sail-sg/zero-bubble-pipeline-parallelism.
TEST_CASE("V-Half with a split vocabulary has the order of the authors' program", "[vocabulary]") {
  const auto schedule = make("v-half", 4, 6, 1);
  CHECK(order(schedule, 0) ==
        "F0a F1a F0b F2a S0 F1b F3a I0b T0 S1 W0b F2b F4a I1b T1 S2 W1b F3b F5a T2 S3 I0a I2b W2b "
        "F4b W0a T3 S4 I1a I3b W3b F5b W1a I2a T4 S5 I4b W4b W2a T5 I3a I5b W5b W3a I4a W4a I5a "
        "W5a");
  CHECK(order(schedule, 3) ==
        "F0a F0b F1a F1b S0 F2a F2b T0 S1 F3a F3b I0b T1 S2 W0b I0a W0a F4a F4b T2 S3 I1b W1b I1a "
        "W1a F5a F5b T3 S4 I2b W2b I2a W2a I3b T4 S5 W3b I3a W3a T5 I4b W4b I4a W4a I5b W5b I5a "
        "W5a");
}

// Made by the function of interlaced_schedule.py in sail-sg/VocabularyParallelism.
TEST_CASE("the interlaced schedule runs S and T of a microbatch together", "[vocabulary]") {
  const auto schedule = make("interlaced", 4, 8, 2);
  CHECK(order(schedule, 0) ==
        "F0 F1 F2 F3 F4 F5 S0 T0 S1 T1 S2 T2 S3 T3 B0 S4 T4 F6 B1 S5 T5 F7 B2 S6 T6 B3 S7 T7 B4 B5 "
        "B6 B7");
  CHECK(order(schedule, 3) ==
        "F0 F1 F2 S0 T0 B0 S1 T1 B1 S2 T2 B2 F3 S3 T3 B3 F4 S4 T4 B4 F5 S5 T5 B5 F6 S6 T6 B6 F7 S7 "
        "T7 B7");
  CHECK_THROWS_WITH(make("interlaced", 4, 8, 1), "interlaced: barriers must be 0 or 2, not 1");
}

// The paper's table of bubbles and memory: that of 1F1B, with p + 1, p + 2 and 1.5 p in flight.
TEST_CASE("a split vocabulary keeps the bubble of 1F1B and puts barriers in flight",
          "[vocabulary]") {
  for (const std::uint32_t p : {2U, 4U, 7U, 8U, 16U})
    for (const auto& [output, output_grad] : {std::pair{0.5, 0.5}, {0.2, 0.1}, {0.0, 0.0}}) {
      CAPTURE(p, output);
      for (const std::uint32_t barriers : {1U, 2U}) {
        const auto schedule = make("1f1b", p, 4 * p, barriers);
        CHECK(timed(schedule, with_outputs(schedule, output, output_grad)).idle ==
              Approx(3.0 * (p - 1)));
        CHECK(peak(schedule) == p + barriers);
      }
      const auto interlaced = make("interlaced", p, 4 * p, 2);
      CHECK(timed(interlaced, with_outputs(interlaced, output, output_grad)).idle ==
            Approx(3.0 * (p - 1)));
      CHECK(peak(interlaced) == 3 * p / 2);
    }
}

TEST_CASE("every device runs S and T of every microbatch, without deadlock", "[vocabulary]") {
  for (const std::uint32_t p : {1U, 2U, 3U, 5U, 8U, 12U})
    for (const std::uint32_t m : {1U, 2U, 3U, 4U, 9U, 25U})
      for (const char* const name : {"1f1b", "v-half", "interlaced"})
        for (const std::uint32_t barriers : {1U, 2U}) {
          if (barriers == 1 && name == std::string("interlaced")) continue;
          CAPTURE(name, p, m, barriers);
          const auto schedule = make(name, p, m, barriers, 2);
          CHECK_NOTHROW(schedules::check_complete(schedule));
          CHECK_NOTHROW(timed(schedule, with_outputs(schedule, 0.3, 0.2)));
        }
}

TEST_CASE("a million microbatches of a split vocabulary take little memory", "[vocabulary]") {
  for (const auto& program : make("1f1b", 8, 1'000'000, 2).programs)
    CHECK(program.loops.size() <= 4);
}

TEST_CASE("a barrier waits for the last device and its exchange", "[vocabulary]") {
  const auto schedule = make("1f1b", 2, 1, 2);
  schedules::PassTimes times = with_outputs(schedule, 0, 0);
  times[PassKind::output] = {1, 3};
  times[PassKind::output_grad] = {5, 2};
  schedules::HopTimes hops(0);
  hops.barriers = {.before_output = 0.25, .after_output = 0.5, .after_output_grad = 0.125};
  std::array<double, schedules::pass_kinds> last_start{};
  schedules::Timing(schedule, times, hops, schedules::P2p::eager)
      .run([&](std::uint32_t device, const schedules::Pass& pass, const schedules::PassSpan& span) {
        if (device == 1) last_start[static_cast<std::size_t>(pass.kind)] = span.start;
      });
  CHECK(last_start[static_cast<std::size_t>(PassKind::output)] == Approx(2 + 0.25));
  CHECK(last_start[static_cast<std::size_t>(PassKind::output_grad)] == Approx(2.25 + 3 + 0.5));
  CHECK(last_start[static_cast<std::size_t>(PassKind::backward)] == Approx(5.75 + 5 + 0.125));
}

TEST_CASE("errors tell of S and T out of place", "[vocabulary]") {
  auto schedule = make("1f1b", 2, 1, 1);
  schedule.programs[1].loops.front().body.clear();
  schedule.programs[1].loops.clear();
  schedule.programs[1].repeat(1, 0,
                              {{PassKind::forward, 1, 0},
                               {PassKind::backward, 1, 0},
                               {PassKind::output, 1, 0},
                               {PassKind::output_grad, 1, 0}});
  CHECK_THROWS_WITH(timed(schedule, with_outputs(schedule, 1, 1)),
                    Catch::Contains("device 1 at B of microbatch 0 on stage 1 waits for S of "
                                    "microbatch 0 on every device"));
  schedule.programs[1].loops.front().body.pop_back();
  CHECK_THROWS_WITH(schedules::check_complete(schedule),
                    "1f1b: microbatch 0 lacks S or T on stage 1");
  schedule.barriers = 0;
  CHECK_THROWS_WITH(schedules::check_complete(schedule),
                    "1f1b: device 0: S of microbatch 0 on stage 0 needs a split vocabulary");
  CHECK_THROWS_WITH(make("1f1b", 2, 1, 3), "1f1b: barriers must be 0, 1 or 2, not 3");
  CHECK_THROWS_WITH(make("zb-h1", 2, 1, 1), Catch::Contains("zb-h1: takes no barriers; 1f1b, "
                                                            "interlaced, v-half do"));
  CHECK_THROWS_WITH(schedules::to_torch_csv(make("1f1b", 2, 2, 1)),
                    "1f1b: PyTorch's CSV has no S and T of a split vocabulary");
}

TEST_CASE("a picture of a schedule has S and T", "[vocabulary]") {
  CHECK_THAT(schedules::draw_text(make("1f1b", 2, 2, 1)),
             Catch::Contains("S0") && Catch::Contains("T1"));
}
