#include "sim/search/draws.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace pipewright;

TEST_CASE("draws are the same for the same seed, whatever else is drawn", "[winner]") {
  const analysis::DrawSettings settings{.draws = 8, .seed = 7};
  const auto few = search::make_draws(settings, {"nic"});
  const auto many = search::make_draws(settings, {"leaf-spine", "nic", "nvlink"});
  for (std::size_t i = 0; i < few.size(); ++i) {
    CHECK(few[i].bandwidth.at("nic") == many[i].bandwidth.at("nic"));
    CHECK(few[i].seed == many[i].seed);
    CHECK(few[i].slow_gpu == many[i].slow_gpu);
  }
  const auto others = search::make_draws({.draws = 8, .seed = 8}, {"nic"});
  CHECK(few[0].bandwidth.at("nic") != others[0].bandwidth.at("nic"));
}

TEST_CASE("networks are drawn evenly between the given bounds", "[winner]") {
  const analysis::DrawSettings settings{.draws = 4000, .network = 0.2};
  double sum = 0;
  double least = 2;
  double most = 0;
  for (const analysis::Draw& draw : search::make_draws(settings, {"nic"})) {
    const double factor = draw.bandwidth.at("nic");
    sum += factor;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  CHECK(sum / settings.draws == Approx(1).margin(0.01));  // 5 standard errors
  CHECK(least >= 0.8);
  CHECK(least < 0.802);
  CHECK(most <= 1.2);
  CHECK(most > 1.198);
}

TEST_CASE("so many of the draws have a slow GPU, slower by at most so much", "[winner]") {
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
    const double one = search::Chance{.seed = 3, .draw = draw}.normal("error");
    sum += one;
    squares += one * one;
  }
  CHECK(sum / count == Approx(0).margin(0.08));
  CHECK(squares / count == Approx(1).margin(0.12));
}
