#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/checks.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "support/random.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using schedules::PassKind;
using schedules::Schedule;

namespace {

struct Sizes {
  std::uint32_t devices = 0;
  std::uint32_t rounds = 1;
  std::uint32_t layers = 1;  // Per device.
  std::uint32_t fold = 1;
};

Schedule helix(const Sizes& sizes) {
  return make_schedule("helixpipe", {.devices = sizes.devices,
                                     .microbatches = sizes.devices * sizes.fold * sizes.rounds,
                                     .layers_per_device = sizes.layers,
                                     .fold = sizes.fold});
}

// Returns the passes of one kind on a device: "stage:microbatch" for each.
std::string passes(const Schedule& schedule, std::uint32_t device, PassKind kind) {
  std::vector<std::string> texts;
  for (const schedules::Pass& pass : schedules::passes_of(schedule.programs[device]))
    if (pass.kind == kind) texts.push_back(fmt::format("{}:{}", pass.stage, pass.microbatch));
  return fmt::format("{}", fmt::join(texts, " "));
}

// Times of the three parts of a layer. The first stage is the part before attention, the last one
// the part after it, and other parameter parts are both. Backwards take twice as long.
struct LayerParts {
  double pre = 0;
  double attention = 0;
  double post = 0;
};

schedules::PassTimes times_of(const Schedule& schedule, const LayerParts& parts) {
  schedules::PassTimes times;
  const std::uint32_t last = schedule.stages() - 1;
  for (std::uint32_t stage = 0; stage <= last; ++stage) {
    const double forward = stage % 2 == 1
                               ? parts.attention
                               : (stage < last ? parts.pre : 0) + (stage > 0 ? parts.post : 0);
    times[PassKind::forward].push_back(forward);
    times[PassKind::backward].push_back(2 * forward);
  }
  return times;
}

// Returns the time by which an iteration exceeds the work of its layers, divided evenly over the
// devices.
double bubble(const Sizes& sizes, const LayerParts& parts) {
  const Schedule schedule = helix(sizes);
  const double work =
      3 * schedule.microbatches * sizes.layers * (parts.pre + parts.attention + parts.post);
  return tests::timed(schedule, times_of(schedule, parts)).makespan - work;
}

}  // namespace

// The expectations are the order in which attention_pipeline() of the authors' code
// (megatron/core/pipeline_parallel/attn_pipe_schedule.py) calls its functions.
TEST_CASE("HelixPipe runs forwards in the order of its authors' code", "[helixpipe]") {
  const Schedule naive = helix({.devices = 4});
  const std::vector<std::string> expected{
      "0:0 0:1 0:2 0:3 1:3 3:2 5:1 7:0 8:0 8:1 8:2 8:3", "1:0 2:0 2:1 2:2 2:3 3:3 5:2 7:1",
      "1:1 3:0 4:0 4:1 4:2 4:3 5:3 7:2", "1:2 3:1 5:0 6:0 6:1 6:2 6:3 7:3"};
  for (std::uint32_t device = 0; device < 4; ++device)
    CHECK(passes(naive, device, PassKind::forward) == expected[device]);

  const Schedule two_fold = helix({.devices = 4, .fold = 2});
  const std::vector<std::string> expected_of_pairs{
      "0:0 0:1 0:2 0:3 0:4 0:5 0:6 1:6 0:7 1:7 3:4 3:5 5:2 5:3 7:0 8:0 7:1 8:1 8:2 8:3 8:4 8:5 8:6 "
      "8:7",
      "1:0 2:0 1:1 2:1 2:2 2:3 2:4 2:5 2:6 3:6 2:7 3:7 5:4 5:5 7:2 7:3",
      "1:2 1:3 3:0 4:0 3:1 4:1 4:2 4:3 4:4 4:5 4:6 5:6 4:7 5:7 7:4 7:5",
      "1:4 1:5 3:2 3:3 5:0 6:0 5:1 6:1 6:2 6:3 6:4 6:5 6:6 7:6 6:7 7:7"};
  for (std::uint32_t device = 0; device < 4; ++device)
    CHECK(passes(two_fold, device, PassKind::forward) == expected_of_pairs[device]);
}

TEST_CASE("device 0 of HelixPipe computes losses while it starts the next round", "[helixpipe]") {
  const Schedule schedule = helix({.devices = 2, .rounds = 2});
  CHECK(passes(schedule, 0, PassKind::forward) ==
        "0:0 0:1 1:1 3:0 4:0 0:2 4:1 0:3 1:3 3:2 4:2 4:3");
  CHECK(passes(schedule, 0, PassKind::backward) ==
        "4:3 4:2 3:2 1:3 0:3 4:1 0:2 4:0 3:0 1:1 0:1 0:0");
  CHECK(passes(schedule, 1, PassKind::forward) == "1:0 2:0 2:1 3:1 1:2 2:2 2:3 3:3");
  CHECK(passes(schedule, 1, PassKind::backward) == "3:3 2:3 2:2 1:2 3:1 2:1 2:0 1:0");
}

TEST_CASE("HelixPipe places attention by microbatch and the matrices by layer", "[helixpipe]") {
  const Schedule schedule = helix({.devices = 3, .layers = 2, .fold = 2});
  REQUIRE(schedule.stages() == 13);
  CHECK(schedule.routes.divides_layers());
  for (std::uint32_t microbatch = 0; microbatch < 6; ++microbatch)
    for (std::uint32_t layer = 0; layer < 6; ++layer) {
      CHECK(schedule.routes.device(2 * layer, microbatch) == layer % 3);
      CHECK(schedule.routes.device(2 * layer + 1, microbatch) == (layer + 1 + microbatch / 2) % 3);
      CHECK(schedule.routes.has_weights(2 * layer));
      CHECK_FALSE(schedule.routes.has_weights(2 * layer + 1));
    }
  CHECK(schedule.routes.device(12, 5) == 0);
  // Device 0 has 3 parameter parts and, for some microbatch, the attention of each of 6 layers.
  CHECK(schedule.chunks == 9);
}

TEST_CASE("the bubble of HelixPipe is p-1 times the matrices of a layer", "[helixpipe]") {
  for (std::uint32_t p = 1; p <= 6; ++p)
    for (std::uint32_t layers = 1; layers <= 3; ++layers)
      for (std::uint32_t rounds = 1; rounds <= 4; ++rounds)
        for (const LayerParts& parts :
             {LayerParts{1, 1, 1}, LayerParts{1, 10, 3}, LayerParts{2, 0.5, 5}}) {
          CAPTURE(p, layers, rounds, parts.pre, parts.attention, parts.post);
          const double matrices = 3 * (parts.pre + parts.post);
          CHECK(bubble({.devices = p, .rounds = rounds, .layers = layers}, parts) ==
                Approx((p - 1) * matrices).margin(1e-9));
          const double two_fold =
              bubble({.devices = p, .rounds = rounds, .layers = layers, .fold = 2}, parts);
          CHECK(two_fold >= (p - 1) * matrices - 1e-9);
          CHECK(two_fold <= 2 * (p - 1) * matrices + 1e-9);
        }
}

TEST_CASE("device 0 of HelixPipe is never idle if all parameter parts take equally long",
          "[helixpipe]") {
  for (std::uint32_t p = 1; p <= 5; ++p)
    for (std::uint32_t fold = 1; fold <= 3; ++fold)
      for (std::uint32_t rounds = 1; rounds <= 3; ++rounds) {
        const std::uint32_t layers = 2;
        const Schedule schedule =
            helix({.devices = p, .rounds = rounds, .layers = layers, .fold = fold});
        schedules::PassTimes times;
        for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
          times[PassKind::forward].push_back(stage % 2 == 0 ? 2 : 7);
          times[PassKind::backward].push_back(stage % 2 == 0 ? 4 : 15);
        }
        CAPTURE(p, fold, rounds);
        CHECK(tests::timed(schedule, times).makespan ==
              Approx(schedule.microbatches * ((layers + 1) * (2 + 4) + layers * (7 + 15))));
      }
}

TEST_CASE("a fold of 2 hides transfers of HelixPipe that a fold of 1 waits for", "[helixpipe]") {
  const LayerParts parts{1, 2, 1};
  const auto seconds = [&](std::uint32_t fold, double hop) {
    const Schedule schedule = helix({.devices = 4, .rounds = 8 / fold, .layers = 4, .fold = fold});
    return tests::timed(schedule, times_of(schedule, parts), hop).makespan;
  };
  CHECK(seconds(1, 0) < seconds(2, 0));
  CHECK(seconds(1, 0.5) > seconds(2, 0.5));
}

TEST_CASE("all microbatches of HelixPipe are in flight before the first backward", "[helixpipe]") {
  for (const Sizes& sizes : {Sizes{4, 1, 2, 1}, Sizes{4, 3, 2, 2}, Sizes{3, 2, 1, 2}}) {
    const Schedule schedule = helix(sizes);
    const auto peaks = schedules::peak_in_flight(schedule);
    for (std::uint32_t device = 0; device < sizes.devices; ++device) {
      // Passes of a microbatch: a parameter part and attention for each layer of the device, and
      // the loss on device 0.
      const std::uint32_t passes_of_one = 2 * sizes.layers + (device == 0 ? 1 : 0);
      CHECK(peaks[device] == Approx(schedule.microbatches * passes_of_one * schedule.share()));
    }
  }
}

TEST_CASE("random sizes of HelixPipe are complete and never deadlock", "[helixpipe]") {
  tests::Random random(2507);
  for (int round = 0; round < 60; ++round) {
    const Sizes sizes{.devices = random.whole(1, 9),
                      .rounds = random.whole(1, 4),
                      .layers = random.whole(1, 4),
                      .fold = random.whole(1, 4)};
    CAPTURE(sizes.devices, sizes.rounds, sizes.layers, sizes.fold);
    Schedule schedule = helix(sizes);
    schedules::set_iterations(schedule, random.whole(1, 2));
    CHECK_NOTHROW(schedules::check_complete(schedule));
    const auto times = times_of(schedule, {random.real(0.1, 1), random.real(0.1, 3), 1});
    for (const auto mode : {schedules::P2p::eager, schedules::P2p::rendezvous,
                            schedules::P2p::blocking, schedules::P2p::steady})
      CHECK(tests::timed(schedule, times, random.real(0, 0.5), mode).makespan > 0);
  }
}

TEST_CASE("unsupported sizes of HelixPipe are rejected with sizes that work", "[helixpipe]") {
  CHECK_THROWS_WITH(
      make_schedule("helixpipe", {.devices = 4, .microbatches = 12, .fold = 2}),
      "helixpipe: microbatches must be a multiple of 8 (4 devices x fold 2), not 12; 8 work");
  CHECK_THROWS_WITH(
      make_schedule("helixpipe", {.devices = 4, .microbatches = 3}),
      "helixpipe: microbatches must be a multiple of 4 (4 devices x fold 1), not 3; 4 work");
  CHECK_THROWS_WITH(
      make_schedule("helixpipe", {.devices = 64, .microbatches = 64, .layers_per_device = 600}),
      Catch::Contains("helixpipe: 76801 stages") && Catch::Contains("more than the 65535"));
  CHECK_THROWS_WITH(
      make_schedule("helixpipe", {.devices = 4, .microbatches = 8, .fold = 4294967295U}),
      Catch::Contains("more than the 67108864 places"));
  CHECK_THROWS_WITH(make_schedule("1f1b", {.devices = 4, .microbatches = 8, .fold = 2}),
                    "1f1b: takes no fold; helixpipe does");
}

TEST_CASE("PyTorch's CSV cannot express HelixPipe", "[helixpipe]") {
  CHECK_THROWS_WITH(schedules::to_torch_csv(helix({.devices = 4})),
                    "helixpipe: PyTorch's CSV cannot put a stage on two ranks");
}
