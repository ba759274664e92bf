#include "sim/search/draws.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace pipewright;

TEST_CASE("draws of a seed do not depend on other draws", "[winner]") {
  const analysis::DrawSettings settings{.draws = 8, .seed = 7};
  const auto few = search::make_draws(settings, {"nic"});
  const auto many = search::make_draws(settings, {"leaf-spine", "nic", "nvlink"});
  for (std::size_t i = 0; i < few.size(); ++i) {
    CHECK(few[i].bandwidth.at("nic") == many[i].bandwidth.at("nic"));
    CHECK(few[i].seed == many[i].seed);
    CHECK(few[i].slow_gpu == many[i].slow_gpu);
  }
  const auto other_seed = search::make_draws({.draws = 8, .seed = 8}, {"nic"});
  CHECK(few[0].bandwidth.at("nic") != other_seed[0].bandwidth.at("nic"));
}

TEST_CASE("bandwidths are uniform between their bounds", "[winner]") {
  const analysis::DrawSettings settings{.draws = 4000, .network = 0.2};
  double sum = 0;
  double smallest = 2;
  double largest = 0;
  for (const analysis::Draw& draw : search::make_draws(settings, {"nic"})) {
    const double factor = draw.bandwidth.at("nic");
    sum += factor;
    smallest = std::min(smallest, factor);
    largest = std::max(largest, factor);
  }
  CHECK(sum / settings.draws == Approx(1).margin(0.01));  // 5 standard errors
  CHECK(smallest >= 0.8);
  CHECK(smallest < 0.802);
  CHECK(largest <= 1.2);
  CHECK(largest > 1.198);
}

TEST_CASE("slow_chance and slow set the frequency and the slowdown of a slow GPU", "[winner]") {
  const analysis::DrawSettings settings{.draws = 4000, .slow = 0.1, .slow_chance = 0.25};
  int slow = 0;
  for (const analysis::Draw& draw : search::make_draws(settings, {})) {
    slow += draw.slow_factor > 1 ? 1 : 0;
    CHECK(draw.slow_factor <= 1.1);
  }
  CHECK(slow / 4000.0 == Approx(0.25).margin(0.035));  // 5 standard errors
}

TEST_CASE("errors are drawn from a normal distribution", "[winner]") {
  double sum = 0;
  double squares = 0;
  constexpr int count = 4000;
  for (std::uint64_t draw = 0; draw < count; ++draw) {
    const double error = search::Chance{.seed = 3, .draw = draw}.normal("error");
    sum += error;
    squares += error * error;
  }
  CHECK(sum / count == Approx(0).margin(0.08));
  CHECK(squares / count == Approx(1).margin(0.12));
}
