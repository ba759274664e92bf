#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using tests::timed;
using tests::uniform_times;

namespace {

struct Figures {
  double idle, span_bubble, peak;  // microbatches of a whole device with F = I = W = 1
  std::vector<double> in_flight;
};

Figures figures(const std::string& name, std::uint32_t p, std::uint32_t m,
                schedules::Parameters more = {}) {
  more.devices = p;
  more.microbatches = m;
  const auto schedule = make_schedule(name, more);
  const auto result = timed(schedule, uniform_times(schedule, 1, 1, 1));
  const auto in_flight = schedules::peak_in_flight(schedule);
  return {result.idle, result.span_bubble, *std::max_element(in_flight.begin(), in_flight.end()),
          in_flight};
}

}  // namespace

TEST_CASE("V-Half idles 3p-7 half units, 3p-4 for odd p, with (p+2)/2 in flight", "[v-shape]") {
  for (std::uint32_t p = 3; p <= 16; ++p) {
    for (const std::uint32_t m : {4 * p, 40 * p}) {
      const Figures v_half = figures("v-half", p, m);
      CAPTURE(p, m);
      CHECK(v_half.idle == Approx((3.0 * p - (p % 2 == 0 ? 7 : 4)) / 2));
      CHECK(v_half.peak == Approx((p + 2) / 2));
    }
  }
}

TEST_CASE("each barrier of a split vocabulary puts one more microbatch of V-Half in flight",
          "[v-shape]") {
  for (std::uint32_t p = 2; p <= 12; ++p)
    for (const std::uint32_t barriers : {1U, 2U}) {
      CAPTURE(p, barriers);
      const Figures waiting = figures("v-half", p, 6 * p, {.barriers = barriers});
      CHECK(waiting.peak <= (p + 2) / 2 + barriers);
      CHECK(waiting.peak > (p + 2) / 2 + barriers - 1);
    }
}

// Idle times of zbv_greedy.py in branch v-half-vocab of sail-sg/zero-bubble-pipeline-parallelism,
// in microbatches of a device: makespans of 55.5, 57, 68.5, 70, 110.5 and 112, without S and T.
TEST_CASE("V-Half with barriers takes the time of the authors' program", "[v-shape]") {
  const auto idle = [](std::uint32_t p, std::uint32_t barriers) {
    return figures("v-half", p, 4 * p, {.barriers = barriers}).idle;
  };
  CHECK(idle(4, 1) == Approx(7.5));
  CHECK(idle(4, 2) == Approx(9));
  CHECK(idle(5, 1) == Approx(8.5));
  CHECK(idle(5, 2) == Approx(10));
  CHECK(idle(8, 1) == Approx(14.5));
  CHECK(idle(8, 2) == Approx(16));
}

// With memory for k half activations, idle time is at least 6p-1-3k cells (arXiv 2405.15362). The
// published V-Min takes 4 cells longer if p = 2 mod 3.
TEST_CASE("V-Min idles 6p-1-6 floor((p+4)/3) half units, the minimum for its memory", "[v-shape]") {
  for (std::uint32_t p = 3; p <= 16; ++p) {
    for (const std::uint32_t m : {4 * p, 40 * p}) {
      const Figures v_min = figures("v-min", p, m);
      CAPTURE(p, m);
      CHECK(v_min.idle == Approx((6.0 * p - 1 - 6 * ((p + 4) / 3)) / 2));
      CHECK(v_min.peak == Approx((p + 4) / 3));
    }
  }
}

TEST_CASE("V-ZB has no span bubble and p in flight", "[v-shape]") {
  for (std::uint32_t p = 1; p <= 16; ++p) {
    for (const std::uint32_t m : {4 * p, 40 * p}) {
      const Figures v_zb = figures("v-zb", p, m);
      CAPTURE(p, m);
      CHECK(v_zb.span_bubble == Approx(0).margin(1e-9));
      CHECK(v_zb.idle == Approx((p - 1) / 2.0).margin(1e-9));
      CHECK(v_zb.peak <= p);
    }
  }
}

TEST_CASE("1F1B-V meets its reference values", "[v-shape]") {
  const std::map<std::uint32_t, double> idle{{4, 7.5}, {5, 9},    {6, 11},
                                             {7, 15},  {8, 16.5}, {9, 18}};
  for (const auto& [p, expected] : idle)
    for (const std::uint32_t m : {4 * p, 40 * p})
      CHECK(figures("1f1b-v", p, m).idle == Approx(expected));
  for (std::uint32_t p = 2; p <= 16; ++p) {
    CAPTURE(p);
    const Figures v = figures("1f1b-v", p, 4 * p);
    CHECK(v.peak <= (2 * p + 3) / 3);  // ceil((2p+1)/3)
    if (p % 3 == 1) CHECK(v.idle == Approx(2.5 * (p - 1)));
  }
}

TEST_CASE("two-thirds 1F1B idles 2p-3 with 2 ceil((p-r+1)/3) in flight", "[v-shape]") {
  for (std::uint32_t p = 2; p <= 16; ++p) {
    const Figures figure = figures("two-thirds-1f1b", p, 4 * p);
    CAPTURE(p);
    CHECK(figure.idle == Approx(2.0 * p - 3));
    for (std::uint32_t r = 0; r < p; ++r) CHECK(figure.in_flight[r] == 2 * ((p - r + 1 + 2) / 3));
  }
}

TEST_CASE("grouped interleaving trades its group size for memory", "[v-shape]") {
  for (std::uint32_t p = 2; p <= 12; ++p)
    for (std::uint32_t v = 2; v <= 4; ++v) {
      const Figures whole = figures("grouped-interleaved", p, 4 * p, {.chunks = v});
      CAPTURE(p, v);
      CHECK(whole.idle == Approx(2.0 * (p - 1) / v));
      CHECK(whole.peak == Approx(p));
    }
  const std::map<std::uint32_t, std::pair<double, double>> half{
      {2, {9, 6}}, {3, {22.0 / 3, 16.0 / 3}}, {4, {6.5, 5}}};
  for (const auto& [v, expected] : half) {
    const Figures figure = figures("grouped-interleaved", 8, 32, {.chunks = v, .group_size = 4});
    CHECK(figure.idle == Approx(expected.first));
    CHECK(figure.peak == Approx(expected.second));
  }
}

TEST_CASE("recomputed chunks are held from R on", "[v-shape]") {
  double before = 1e9;
  for (std::uint32_t chunks = 0; chunks <= 2; ++chunks) {
    const auto schedule =
        make_schedule("grouped-interleaved",
                      {.devices = 8, .microbatches = 32, .chunks = 2, .recompute = chunks});
    const auto in_flight = schedules::peak_in_flight(schedule);
    const double peak = *std::max_element(in_flight.begin(), in_flight.end());
    CHECK(peak < before);
    before = peak;
    auto times = uniform_times(schedule, 1, 1, 1);
    times.of_stage[static_cast<int>(schedules::PassKind::recompute)] = times.of_stage[0];
    const double busy = 32 * (3 + chunks / 2.0);
    CHECK(timed(schedule, times).makespan >= busy);
  }
  CHECK_THROWS_WITH(make_schedule("grouped-interleaved",
                                  {.devices = 4, .microbatches = 8, .chunks = 2, .recompute = 3}),
                    Catch::Contains("0 to 2 work"));
  CHECK_THROWS_WITH(
      make_schedule("grouped-interleaved", {.devices = 8, .microbatches = 32, .group_size = 3}),
      Catch::Contains("4 to 8 work"));
}
