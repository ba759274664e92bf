#include "schedules/timing.hpp"

#include <map>
#include <tuple>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright::schedules;
using pipewright::tests::timed;
using pipewright::tests::uniform_times;

namespace {

constexpr auto F = PassKind::forward;
constexpr auto I = PassKind::input_grad;
constexpr auto W = PassKind::weight_grad;
constexpr auto B = PassKind::backward;

Program one_by_one(std::vector<Pass> passes) {
  Program program;
  program.repeat(1, 0, std::move(passes));
  return program;
}

std::map<std::tuple<PassKind, int, int>, PassSpan> spans(const Schedule& schedule,
                                                         const PassTimes& times, double hop,
                                                         P2p mode) {
  std::map<std::tuple<PassKind, int, int>, PassSpan> result;
  const HopTimes hops(hop);
  Timing(schedule, times, hops, mode)
      .run([&](std::uint32_t, const Pass& pass, const PassSpan& span) {
        result[{pass.kind, pass.stage, pass.microbatch}] = span;
      });
  return result;
}

}  // namespace

TEST_CASE("each hop adds its latency once for one microbatch on two devices", "[timing]") {
  const Schedule schedule = make_schedule("1f1b", {.devices = 2, .microbatches = 1});
  auto at = spans(schedule, uniform_times(schedule, 1, 1, 1), 0.5, P2p::eager);
  CHECK(at[{F, 0, 0}].end == 1);
  CHECK(at[{F, 1, 0}].sent == 1);
  CHECK(at[{F, 1, 0}].ready == 1.5);
  CHECK(at[{F, 1, 0}].start == 1.5);
  CHECK(at[{B, 1, 0}].ready == 2.5);  // The gradient is ready when F ends.
  CHECK(at[{B, 1, 0}].end == 4.5);
  CHECK(at[{B, 0, 0}].start == 5);
  CHECK(at[{B, 0, 0}].end == 7);
}

TEST_CASE("a rendezvous starts when the receiver reaches the pass", "[timing]") {
  const Schedule schedule = make_schedule("gpipe", {.devices = 2, .microbatches = 2});
  auto at = spans(schedule, uniform_times(schedule, 1, 1, 1), 0.5, P2p::rendezvous);
  CHECK(at[{F, 1, 0}].start == 1.5);
  CHECK(at[{F, 1, 1}].sent == 2);
  CHECK(at[{F, 1, 1}].ready == 3);  // The receiver computes until 2.5.
}

TEST_CASE("a blocking send occupies the sender until the tensor arrives", "[timing]") {
  const Schedule schedule = make_schedule("gpipe", {.devices = 2, .microbatches = 2});
  auto at = spans(schedule, uniform_times(schedule, 1, 1, 1), 0.5, P2p::blocking);
  CHECK(at[{F, 0, 0}].end == 1);
  CHECK(at[{F, 0, 0}].released == 1.5);
  CHECK(at[{F, 0, 1}].start == 1.5);
  CHECK(at[{F, 1, 1}].released == at[{F, 1, 1}].end);  // The last stage sends no activations.
}

TEST_CASE("a steady sender waits for tensors of passes that repeat its direction", "[timing]") {
  // Device 0 runs F0 F1 B0 F2 B1 B2, and device 1 runs F0 B0 F1 B1 F2 B2.
  const Schedule schedule = make_schedule("1f1b", {.devices = 2, .microbatches = 3});
  auto at = spans(schedule, uniform_times(schedule, 1, 1, 1), 0.5, P2p::steady);
  CHECK(at[{F, 0, 0}].released == at[{F, 0, 0}].end + 0.5);
  CHECK(at[{F, 0, 1}].start == 1.5);
  CHECK(at[{F, 0, 1}].released == at[{F, 0, 1}].end);
  CHECK(at[{F, 0, 2}].released == at[{F, 0, 2}].end);
  CHECK(at[{B, 1, 0}].released == at[{B, 1, 0}].end);
  CHECK(at[{B, 1, 1}].released == at[{B, 1, 1}].end);
}

TEST_CASE("forwards and backwards of GPipe leave out nothing of blocking sends", "[timing]") {
  const Schedule schedule = make_schedule("gpipe", {.devices = 2, .microbatches = 3});
  const PassTimes times = uniform_times(schedule, 1, 1, 1);
  // The last F arrives after three F and three hops, the last B starts after three B and two hops
  // more, and its gradient takes another hop.
  CHECK(timed(schedule, times, 0.5, P2p::steady).makespan == Approx(3 + 1.5 + 1 + 6 + 1 + 0.5 + 2));
  CHECK(timed(schedule, times, 0.5, P2p::blocking).makespan == Approx(15));
  CHECK(timed(schedule, times, 0.5).makespan == Approx(3 + 0.5 + 1 + 6 + 0.5 + 2));
}

// In the warm-up, the forwards of a chunk take a device as long, with their hops, as the first of
// them takes to come back through all devices.
TEST_CASE("steady transfers cost interleaved 1F1B of equal passes nothing", "[timing]") {
  for (const std::uint32_t p : {3U, 4U, 8U})
    for (const std::uint32_t chunks : {2U, 3U}) {
      CAPTURE(p, chunks);
      const auto lost = [&](P2p mode, std::uint32_t microbatches) {
        const Schedule schedule = make_schedule(
            "interleaved-1f1b", {.devices = p, .microbatches = microbatches, .chunks = chunks});
        const PassTimes times = uniform_times(schedule, 1, 1, 1);
        return timed(schedule, times, 0.05, mode).makespan - timed(schedule, times, 0.05).makespan;
      };
      const double steady = lost(P2p::steady, 4 * p);
      CHECK(steady == Approx(0).margin(1e-9));
      CHECK(lost(P2p::steady, 8 * p) == Approx(0).margin(1e-9));
      CHECK(lost(P2p::blocking, 8 * p) > lost(P2p::blocking, 4 * p) + 2 * p * 0.05);
      CHECK(lost(P2p::blocking, 4 * p) > steady);
    }
}

TEST_CASE("I releases the previous stage before W", "[timing]") {
  const Schedule schedule{.name = "split",
                          .devices = 2,
                          .microbatches = 1,
                          .routes = Routes::looped(2, 1),
                          .programs = {one_by_one({{F, 0, 0}, {I, 0, 0}, {W, 0, 0}}),
                                       one_by_one({{F, 1, 0}, {I, 1, 0}, {W, 1, 0}})}};
  auto at = spans(schedule, uniform_times(schedule, 1, 2, 4), 0.5, P2p::eager);
  CHECK(at[{I, 1, 0}].end == 4.5);
  CHECK(at[{I, 0, 0}].start == 5);
  CHECK(at[{W, 1, 0}].ready == 4.5);
  CHECK(at[{W, 1, 0}].end == 8.5);
  CHECK(at[{W, 0, 0}].end == 11);
}

TEST_CASE("the slowest stage determines the pace of uneven stages", "[timing]") {
  const Schedule schedule = make_schedule("1f1b", {.devices = 3, .microbatches = 50});
  PassTimes times = uniform_times(schedule, 1, 1, 1);
  times.of_stage[static_cast<int>(F)][1] = 2;
  // The middle device computes for 50 x (2 + 2). It starts after the first device's F, waits for 1
  // until its first gradient arrives and for 1 before the last one, and then the first device runs
  // a B.
  CHECK(timed(schedule, times).makespan == Approx(1 + 50 * 4 + 1 + 1 + 2));
}

TEST_CASE("a deadlock names all waiting devices and their missing inputs", "[timing]") {
  const Schedule schedule{.name = "crossed",
                          .devices = 2,
                          .microbatches = 2,
                          .routes = Routes::looped(2, 1),
                          .programs = {one_by_one({{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}),
                                       one_by_one({{F, 1, 1}, {B, 1, 1}, {F, 1, 0}, {B, 1, 0}})}};
  CHECK_THROWS_WITH(
      timed(schedule, uniform_times(schedule, 1, 1, 1)),
      "crossed: deadlock: 2 of 2 devices wait forever\n"
      "  device 0 at B of microbatch 0 on stage 0 waits for the gradient of microbatch 0 from "
      "stage 1 (device 1)\n"
      "  device 1 at F of microbatch 1 on stage 1 waits for the activations of F of microbatch 1 "
      "on stage 0 (device 0)");
}

TEST_CASE("more latency never makes a schedule faster", "[timing]") {
  for (const Entry& entry : catalog()) {
    const Schedule schedule = entry.make({.devices = 4, .microbatches = 12});
    const PassTimes times = uniform_times(schedule, 1, 1.2, 0.8);
    double before = 0;
    for (const double hop : {0.0, 0.01, 0.1, 0.5, 2.0, 10.0}) {
      const double eager = timed(schedule, times, hop).makespan;
      CHECK(eager >= before);
      CHECK(timed(schedule, times, hop, P2p::rendezvous).makespan >= eager - 1e-9);
      CHECK(timed(schedule, times, hop, P2p::blocking).makespan >= eager - 1e-9);
      CHECK(timed(schedule, times, hop, P2p::steady).makespan >= eager - 1e-9);
      before = eager;
    }
  }
}
