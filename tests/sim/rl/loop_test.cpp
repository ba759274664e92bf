#include "sim/rl/loop.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>

using namespace pipewright;

namespace {

// A loop in which an engine's step takes 10 ms whatever its batch.
rl::Loop make_loop(std::vector<std::uint32_t> responses, std::uint32_t engines = 2) {
  rl::Loop loop;
  loop.batch = static_cast<std::uint32_t>(responses.size());
  loop.responses = std::move(responses);
  loop.engines = engines;
  loop.decode.overhead = 0.01;
  loop.decode.bandwidth = 1;
  loop.decode.flops = 1;
  loop.max_sequences = 1000;
  loop.training = 3;
  loop.sync = 0.5;
  return loop;
}

}  // namespace

TEST_CASE("an on-policy step takes generation, training and synchronisation", "[rl]") {
  rl::Loop loop = make_loop(std::vector<std::uint32_t>(8, 200));
  const rl::LoopOutcome outcome = rl::simulate(loop);
  CHECK(outcome.seconds_per_step == Approx(2.0 + 3 + 0.5).epsilon(1e-12));
  CHECK(outcome.engines_busy == Approx(2.0 / 5.5).epsilon(1e-12));
  CHECK(outcome.trainer_busy == Approx(3.0 / 5.5).epsilon(1e-12));
  CHECK(outcome.mean_batch == Approx(4.0).epsilon(1e-12));
  const rl::LoopStep& first = outcome.steps.front();
  CHECK(first.generated == Approx(2.0).epsilon(1e-12));
  CHECK(first.trained == Approx(5.0).epsilon(1e-12));
  CHECK(first.synced == Approx(5.5).epsilon(1e-12));
}

TEST_CASE("one step off policy, a step without a tail takes the longer of both phases", "[rl]") {
  rl::Loop loop = make_loop(std::vector<std::uint32_t>(8, 200));
  loop.lag = 1;
  loop.steps = 20;
  loop.max_sequences = 4;  // a batch fills the engines
  SECTION("training is longer") {
    CHECK(rl::simulate(loop).seconds_per_step == Approx(3 + 0.5).epsilon(1e-9));
  }
  SECTION("generation is longer") {
    loop.training = 1;
    CHECK(rl::simulate(loop).seconds_per_step == Approx(2 + 0.5).epsilon(1e-9));
  }
}

TEST_CASE("a single long response delays an on-policy step by its own time", "[rl]") {
  std::vector<std::uint32_t> responses(8, 200);
  responses[5] = 1000;
  const rl::LoopOutcome outcome = rl::simulate(make_loop(responses));
  CHECK(outcome.seconds_per_step == Approx(10.0 + 3 + 0.5).epsilon(1e-12));
  // The other engine waits from 2 s on.
  CHECK(outcome.engines_busy == Approx((10.0 + 2.0) / 2 / 13.5).epsilon(1e-12));
  CHECK(outcome.least_busy == Approx(2.0 / 13.5).epsilon(1e-12));
  CHECK(outcome.most_busy == Approx(10.0 / 13.5).epsilon(1e-12));
}

TEST_CASE("a step trains on prompts whose responses are all complete", "[rl]") {
  rl::Loop loop = make_loop({100, 900, 200, 200}, 1);
  loop.lag = 1;
  loop.training = 0.1;
  loop.batch = 2;
  SECTION("single responses: the two shortest of the four") {
    CHECK(rl::simulate(loop).steps.front().generated == Approx(2.0).epsilon(1e-12));
  }
  SECTION("prompts of two responses: the second prompt") {
    loop.group = 2;
    loop.responses = {100, 900, 200, 300};
    CHECK(rl::simulate(loop).steps.front().generated == Approx(3.0).epsilon(1e-12));
  }
}

TEST_CASE("an engine without room starts a response when another one ends", "[rl]") {
  rl::Loop loop = make_loop({100, 200, 300, 400}, 1);
  SECTION("one at a time") {
    loop.max_sequences = 1;
    CHECK(rl::simulate(loop).seconds_per_step == Approx(10.0 + 3.5).epsilon(1e-12));
  }
  SECTION("two at a time: 100 and 200, then 300 from step 100, then 400 from step 200") {
    loop.max_sequences = 2;
    CHECK(rl::simulate(loop).seconds_per_step == Approx(6.0 + 3.5).epsilon(1e-12));
  }
  SECTION("as many as fit into memory, with their prompts") {
    loop.prompt = 50;
    loop.cache_tokens = 500;  // 150 + 250, then 350, then 450
    CHECK(rl::simulate(loop).seconds_per_step == Approx(9.0 + 3.5).epsilon(1e-12));
  }
}

TEST_CASE("a decode step reads weights and all keys and values, or computes", "[rl]") {
  rl::DecodeCost decode;
  decode.weight_bytes = 100;
  decode.bytes_per_token = 2;
  decode.bytes_per_sequence = 5;
  decode.bandwidth = 10;
  decode.flop_per_token = 30;
  decode.flops = 10;
  decode.overhead = 1;
  SECTION("memory") {
    CHECK(decode.step(3, 40) == Approx((100 + 15 + 80) / 10.0 + 1).epsilon(1e-12));
  }
  SECTION("compute") { CHECK(decode.step(20, 40) == Approx(60.0 + 1).epsilon(1e-12)); }
  SECTION("many steps equal the sum of single ones, also where memory overtakes compute") {
    double sum = 0;
    for (std::uint64_t step = 0; step < 300; ++step)
      sum += decode.step(20, 40 + 20.0 * static_cast<double>(step));
    CHECK(decode.steps(20, 40, 300) == Approx(sum).epsilon(1e-12));
    CHECK(decode.steps_within(20, 40, 1000, sum) == 300);
    CHECK(decode.steps_within(20, 40, 1000, sum * (1 - 1e-9)) == 299);
  }
  SECTION("experts are read if a token of the batch chose them") {
    decode.expert_bytes = 64;
    decode.experts = 8;
    decode.top_k = 2;
    CHECK(decode.step(1, 0) == Approx((100 + 16 + 5) / 10.0 + 1).epsilon(1e-12));
    CHECK(decode.step(2, 0) ==
          Approx((100 + 64 * (1 - 0.75 * 0.75) + 10) / 10.0 + 1).epsilon(1e-12));
  }
  SECTION("measured points replace the model") {
    decode.table = {{1, 100}, {16, 800}};
    CHECK(decode.step(1, 1e9) == Approx(0.01).epsilon(1e-12));
    CHECK(decode.step(16, 0) == Approx(0.02).epsilon(1e-12));
    CHECK(decode.step(32, 0) == Approx(0.04).epsilon(1e-12));
    CHECK(decode.steps(4, 0, 10) == Approx(10 * (0.01 + 0.2 * 0.01)).epsilon(1e-12));
  }
}

TEST_CASE("random loops keep the order of their parts", "[rl]") {
  std::mt19937 random(7);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int run = 0; run < 60; ++run) {
    std::vector<std::uint32_t> responses;
    for (int i = 0; i < 64; ++i) responses.push_back(static_cast<std::uint32_t>(draw(1, 900)));
    rl::Loop loop = make_loop(responses, static_cast<std::uint32_t>(draw(1, 6)));
    loop.steps = 30;
    loop.training = draw(0.1, 20);
    loop.sync = draw(0, 3);
    loop.decode.weight_bytes = draw(0, 0.01);
    loop.decode.bytes_per_token = draw(0, 1e-7);
    loop.max_sequences = static_cast<std::uint64_t>(draw(2, 40));
    CAPTURE(run, loop.engines, loop.training, loop.sync, loop.max_sequences);
    const rl::LoopOutcome on_policy = rl::simulate(loop);
    const double generation = on_policy.seconds_per_step - loop.training - loop.sync;
    CHECK(generation > 0);
    // Steps are consistent, and no step trains before its responses are complete.
    double last = 0;
    for (const rl::LoopStep& step : on_policy.steps) {
      CHECK(step.trains >= step.generated);
      CHECK(step.generated >= last);
      last = step.synced;
    }
    // Staleness hides at most the shorter phase, and more of it hides at least as much.
    rl::Loop off_policy = loop;
    off_policy.lag = 1;
    const double one_off = rl::simulate(off_policy).seconds_per_step;
    CHECK(one_off <= on_policy.seconds_per_step * 1.001);
    CHECK(one_off >= loop.training + loop.sync - 1e-9);
    const rl::LoopOutcome outcome = rl::simulate(off_policy);
    CHECK(outcome.engines_busy <= 1 + 1e-9);
    CHECK(outcome.trainer_busy <= 1 + 1e-9);
    // A loop repeats itself exactly.
    CHECK(rl::simulate(off_policy).seconds_per_step == one_off);
  }
}
