#include "analysis/report/search/objective.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "support/random.hpp"

using namespace pipewright::analysis;
using pipewright::tests::Random;

namespace {

// An iteration on 8 GPUs of 100 TFLOP/s that takes 1 s if GPUs reach half of their peak rate.
const IterationWork work{.gpus = 8,
                         .samples = 4,
                         .tokens = 4096,
                         .model_flop = 4e14,
                         .full_attention_flop = 6e14,
                         .peak_flops = 8e14};

constexpr Objective::Kind kinds[] = {Objective::Kind::throughput,    Objective::Kind::mfu,
                                     Objective::Kind::time_to_train, Objective::Kind::price,
                                     Objective::Kind::memory,        Objective::Kind::tokens_a_day};

}  // namespace

TEST_CASE("the cost of an objective follows its definition") {
  Objective objective{.tokens = 4096 * 3600.0, .price_per_gpu_hour = 2.5};
  CHECK(cost(objective, work, 2, 7) == Approx(2.0 / 4096));
  CHECK(throughput(work, 2) == Approx(2048));
  CHECK(mfu(work, 1) == Approx(0.5));
  CHECK(mfu_full_attention(work, 1) == Approx(0.75));
  objective.kind = Objective::Kind::mfu;
  CHECK(cost(objective, work, 1, 7) == Approx(2));
  objective.kind = Objective::Kind::time_to_train;
  CHECK(cost(objective, work, 2, 7) == Approx(7200));
  objective.kind = Objective::Kind::price;
  CHECK(cost(objective, work, 2, 7) == Approx(2 * 8 * 2.5));
  objective.kind = Objective::Kind::memory;
  objective.floor = 2048;
  CHECK(cost(objective, work, 2, 7) == 7);
  CHECK(std::isinf(cost(objective, work, 2.0001, 7)));
  objective.floor_in_samples = true;
  objective.floor = 2;
  CHECK(cost(objective, work, 2, 7) == 7);
  CHECK(std::isinf(cost(objective, work, 2.0001, 7)));
}

TEST_CASE("a cost never falls as time grows") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    IterationWork any{.gpus = random.whole(1, 4096),
                      .samples = random.real(1, 4000),
                      .tokens = random.flip() ? random.real(1, 1e7) : 0,
                      .model_flop = random.real(1e12, 1e19),
                      .peak_flops = random.real(1e12, 1e18)};
    Objective objective{.tokens = random.real(1e9, 1e13),
                        .price_per_gpu_hour = random.real(0.1, 10),
                        .floor = random.real(0, 1e4),
                        .floor_in_samples = random.flip()};
    const double time = random.real(1e-3, 1e3);
    for (const Objective::Kind kind : kinds) {
      objective.kind = kind;
      const double base = cost(objective, any, time, 99);
      CHECK(base <= cost(objective, any, std::nextafter(time, 1e9), 99));
      CHECK(base <= cost(objective, any, time * random.real(1, 2), 99));
      CHECK(base <= cost(objective, any, time, 99 + random.whole(0, 9)));
    }
  }
}

TEST_CASE("unknown work gives an infinite or a fallback cost") {
  const IterationWork bare{.gpus = 2, .samples = 8};
  Objective objective;
  CHECK(cost(objective, bare, 4, 1) == 0.5);
  CHECK(cost(objective, {}, 4, 1) == 4);
  CHECK(throughput(bare, 4) == 2);
  CHECK(throughput(bare, 0) == 0);
  CHECK(mfu(bare, 4) == 0);
  for (const auto kind :
       {Objective::Kind::mfu, Objective::Kind::time_to_train, Objective::Kind::price}) {
    objective.kind = kind;
    CHECK(std::isinf(cost(objective, bare, 4, 1)));
    CHECK(cost_text(objective, bare, cost(objective, bare, 4, 1)) == "unknown");
  }
}

TEST_CASE("objectives and costs have readable units") {
  Objective objective{.tokens = 2e12, .price_per_gpu_hour = 2.5, .floor = 1500};
  CHECK(name_of(objective) == "throughput");
  CHECK(cost_text(objective, work, 1 / 812e3) == "812 k tokens/s");
  CHECK(cost_text(objective, {.samples = 3}, 0.5) == "2 samples/s");
  objective.kind = Objective::Kind::mfu;
  CHECK(name_of(objective) == "MFU");
  CHECK(cost_text(objective, work, 1 / 0.498) == "49.8 %");
  objective.kind = Objective::Kind::time_to_train;
  CHECK(name_of(objective) == "time to train 2 T tokens");
  CHECK(cost_text(objective, work, 86400 * 34.25) == "34.25 days");
  CHECK(cost_text(objective, work, 3600 * 12) == "12 h");
  CHECK(cost_text(objective, work, 90) == "90.00 s");
  objective.kind = Objective::Kind::price;
  CHECK(name_of(objective) == "price of 2 T tokens at $2.50 a GPU-hour");
  CHECK(cost_text(objective, work, 1.234e6) == "$1.23 M");
  objective.currency = "EUR";
  CHECK(cost_text(objective, work, 12.3) == "12.30 EUR");
  objective.kind = Objective::Kind::memory;
  CHECK(name_of(objective) == "memory with at least 1.5 k tokens/s");
  CHECK(cost_text(objective, work, 3.0 * (1 << 30)) == "3.0 GiB");
  CHECK(cost_text(objective, work, INFINITY) == "below the floor");
}

TEST_CASE("tokens a day count only the effective training time") {
  const Objective objective{.kind = Objective::Kind::tokens_a_day, .seeds = 8};
  IterationWork work{.gpus = 8, .tokens = 4096};
  // An iteration takes 2 s, so a day has 43,200 iterations.
  CHECK(1 / cost(objective, work, 2, 0) == Approx(4096 * 43200.0));
  work.lost_part = 0.25;
  CHECK(1 / cost(objective, work, 2, 0) == Approx(0.75 * 4096 * 43200));
  CHECK(work_per_day(work, 2) == Approx(0.75 * 4096 * 43200));
  CHECK(name_of(objective) == "tokens a day of a goodput run, 8 seeds");
  CHECK(cost_text(objective, work, 1 / 275e9) == "275 B tokens a day");
  work.lost_part = 1;
  CHECK(std::isinf(cost(objective, work, 2, 0)));
}

TEST_CASE("a missed deadline makes the price infinite") {
  const Objective objective{
      .kind = Objective::Kind::price, .tokens = 1000, .price_per_gpu_hour = 1, .deadline_s = 100};
  const IterationWork work{.gpus = 1, .tokens = 10};  // 100 iterations
  CHECK(cost(objective, work, 1, 0) == Approx(100.0 / 3600));
  CHECK(std::isinf(cost(objective, work, 1.01, 0)));
}
