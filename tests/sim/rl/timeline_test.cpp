#include "sim/rl/timeline.hpp"

#include <numeric>

#include <catch2/catch.hpp>

using namespace pipewright;
using analysis::RlPhase;

namespace {

// Returns a loop on policy in which a decode step takes 10 ms whatever its batch. After generation,
// log-probabilities take 1 s, two optimizer steps 1 s each, and new weights 0.5 s.
rl::Setting make_setting(std::vector<std::uint32_t> responses) {
  rl::Setting setting;
  setting.update = 1;
  setting.post.updates = 2;
  setting.forward = 1;
  setting.sync = 0.5;
  rl::Loop& loop = setting.loop;
  loop.batch = static_cast<std::uint32_t>(responses.size());
  loop.responses = std::move(responses);
  loop.engines = 2;
  loop.decode.overhead = 0.01;
  loop.decode.bandwidth = 1;
  loop.decode.flops = 1;
  loop.max_sequences = 1000;
  loop.training = 3;
  loop.sync = setting.sync;
  loop.records_engines = true;
  return setting;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns the value of the part of the time at `seconds`.
double at(const analysis::RlTimeline& timeline, const std::vector<double>& values, double seconds) {
  return values.at(
      static_cast<std::size_t>(seconds / timeline.seconds * static_cast<double>(values.size())));
}

}  // namespace

TEST_CASE("the timeline of the trainer has the phases of each step in their order", "[rl]") {
  const rl::Setting setting = make_setting(std::vector<std::uint32_t>(8, 200));
  const analysis::RlTimeline timeline = rl::timeline_of(setting, rl::simulate(setting.loop));
  CHECK(timeline.seconds == Approx(3 * 5.5).epsilon(1e-12));
  REQUIRE(timeline.step_ends.size() == 3);
  CHECK(timeline.step_ends[1] == Approx(11).epsilon(1e-12));
  REQUIRE(timeline.trainer.size() == 9);
  const RlPhase phases[] = {RlPhase::log_probabilities, RlPhase::training, RlPhase::weights};
  const double starts[] = {2, 3, 5};
  const double ends[] = {3, 5, 5.5};
  for (std::size_t step = 0; step < 3; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      const analysis::RlSpan& span = timeline.trainer[3 * step + i];
      CHECK(span.phase == phases[i]);
      CHECK(span.start == Approx(5.5 * static_cast<double>(step) + starts[i]).epsilon(1e-9));
      CHECK(span.end == Approx(5.5 * static_cast<double>(step) + ends[i]).epsilon(1e-9));
    }
}

TEST_CASE("the timeline shows a reference model and the time for rewards", "[rl]") {
  rl::Setting setting = make_setting(std::vector<std::uint32_t>(8, 200));
  setting.post.reference = true;
  setting.loop.training += 1;
  setting.loop.overhead = 0.25;
  const analysis::RlTimeline timeline = rl::timeline_of(setting, rl::simulate(setting.loop));
  REQUIRE(timeline.trainer.size() == 15);
  CHECK(timeline.trainer[0].phase == RlPhase::overhead);
  CHECK(timeline.trainer[0].start == Approx(2).epsilon(1e-9));
  CHECK(timeline.trainer[2].phase == RlPhase::reference);
  CHECK(timeline.trainer[2].start == Approx(3.25).epsilon(1e-9));
}

TEST_CASE("the timeline of engines has the share that generates and their responses", "[rl]") {
  SECTION("responses of one length") {
    const rl::Setting setting = make_setting(std::vector<std::uint32_t>(8, 200));
    const analysis::RlTimeline timeline = rl::timeline_of(setting, rl::simulate(setting.loop));
    CHECK(mean(timeline.generating) == Approx(2 / 5.5).epsilon(1e-9));
    CHECK(mean(timeline.responses) == Approx(4 * 2 / 5.5).epsilon(1e-9));
  }
  SECTION("a long response keeps one of two engines busy") {
    rl::Setting setting = make_setting({200, 200, 1000, 200});
    const analysis::RlTimeline timeline = rl::timeline_of(setting, rl::simulate(setting.loop));
    CHECK(at(timeline, timeline.generating, 1) == Approx(1).epsilon(1e-9));
    CHECK(at(timeline, timeline.responses, 1) == Approx(2).epsilon(1e-9));
    CHECK(at(timeline, timeline.generating, 5) == Approx(0.5).epsilon(1e-9));
    CHECK(at(timeline, timeline.responses, 5) == Approx(0.5).epsilon(1e-9));
    CHECK(at(timeline, timeline.generating, 11) == Approx(0).margin(1e-9));
  }
}

TEST_CASE("off policy, the timeline begins when new weights arrive in the steady state", "[rl]") {
  rl::Setting setting = make_setting(std::vector<std::uint32_t>(8, 200));
  setting.loop.lag = 1;
  setting.loop.max_sequences = 4;
  const rl::LoopOutcome outcome = rl::simulate(setting.loop);
  const analysis::RlTimeline timeline = rl::timeline_of(setting, outcome);
  CHECK(timeline.seconds == Approx(3 * outcome.seconds_per_step).epsilon(1e-9));
  CHECK(mean(timeline.generating) == Approx(outcome.engines_busy).epsilon(1e-9));
}
