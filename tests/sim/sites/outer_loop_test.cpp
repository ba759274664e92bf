#include "sim/sites/outer_loop.hpp"

#include <random>

#include <catch2/catch.hpp>

using namespace pipewright;

namespace {

sites::OuterLoop make_loop() {
  return {
      .iteration = 2, .bytes = 100e9, .sites = 4, .bandwidth = 1e9, .latency = 0.5, .every = 100};
}

}  // namespace

TEST_CASE("an exchange sends twice the bytes but for a site's own part", "[sites]") {
  CHECK(make_loop().exchange() == Approx(2 * 100.0 * 3 / 4 + 0.5));
}

TEST_CASE("without overlap, a round takes its iterations and its exchanges", "[sites]") {
  sites::OuterLoop loop = make_loop();
  CHECK(sites::simulate(loop).round == Approx(200 + 150.5));
  CHECK(sites::simulate(loop).utilisation == Approx(200 / 350.5));
  CHECK(sites::simulate(loop).longest_wait == Approx(150.5));
  loop.fragments = 5;  // the same bytes, with five latencies
  CHECK(sites::simulate(loop).round == Approx(200 + 150 + 5 * 0.5));
  CHECK(sites::simulate(loop).longest_wait == Approx(30.5));
}

TEST_CASE("an exchange that ends within its iterations is free", "[sites]") {
  sites::OuterLoop loop = make_loop();
  loop.fragments = 5;
  loop.overlap = 16;  // 32 s for an exchange of 30.5 s
  CHECK(sites::simulate(loop).utilisation == Approx(1));
  CHECK(sites::simulate(loop).connection_busy == Approx(5 * 30.5 / 200));
  loop.overlap = 10;  // 20 s
  CHECK(sites::simulate(loop).round == Approx(200 + 5 * 10.5));
}

TEST_CASE("a connection that is always busy sets the pace", "[sites]") {
  sites::OuterLoop loop = make_loop();
  loop.fragments = 10;
  loop.overlap = 50;
  loop.bandwidth = 1e8;  // ten exchanges of 150.5 s in a round
  CHECK(sites::simulate(loop).round == Approx(10 * 150.5));
  CHECK(sites::simulate(loop).connection_busy == Approx(1));
}

TEST_CASE("fragments of any number are each sent once a round", "[sites]") {
  sites::OuterLoop loop = make_loop();
  for (const std::uint32_t fragments : {1U, 3U, 7U, 64U, 99U, 100U}) {
    CAPTURE(fragments);
    loop.fragments = fragments;
    CHECK(sites::simulate(loop).round == Approx(200 + 150 + 0.5 * fragments));
  }
}

TEST_CASE("the least bandwidth for a utilisation gives it", "[sites]") {
  sites::OuterLoop loop = make_loop();
  loop.latency = 0;
  // 200 s of training and 2 N / W (1 - 1 / 4) of exchange are as long at a half.
  CHECK(sites::bandwidth_for(loop, 0.5) == Approx(150e9 / 200).epsilon(1e-5));
  loop.latency = 20;
  CHECK(sites::bandwidth_for(loop, 0.95) == 0);
}

TEST_CASE("utilisation grows with bandwidth, overlap and rarer exchanges", "[sites]") {
  std::mt19937 random(3);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int run = 0; run < 200; ++run) {
    sites::OuterLoop loop = make_loop();
    loop.every = static_cast<std::uint32_t>(draw(4, 300));
    loop.fragments = static_cast<std::uint32_t>(draw(1, loop.every));
    loop.overlap = static_cast<std::uint32_t>(draw(0, loop.every - 2));
    loop.bandwidth = draw(1e8, 1e10);
    CAPTURE(run, loop.every, loop.fragments, loop.overlap, loop.bandwidth);
    const double utilisation = sites::simulate(loop).utilisation;
    CHECK(utilisation <= Approx(1));
    sites::OuterLoop better = loop;
    better.bandwidth *= 2;
    CHECK(sites::simulate(better).utilisation >= utilisation * (1 - 1e-9));
    better = loop;
    ++better.overlap;
    CHECK(sites::simulate(better).utilisation >= utilisation * (1 - 1e-9));
    better = loop;
    better.every *= 2;
    CHECK(sites::simulate(better).utilisation >= utilisation * (1 - 1e-9));
  }
}
