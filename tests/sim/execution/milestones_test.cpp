#include "sim/execution/milestones.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace pipewright;
using execution::Milestone;
using execution::Milestones;

namespace {

// Returns milestones in their order as text: "g0" for gradients, "w0" for weights, "p0" for weights
// of a partner.
std::string order(Milestones milestones) {
  std::string text;
  for (Milestone due = milestones.next(); due.kind != Milestone::Kind::none;
       due = milestones.next()) {
    milestones.pop(due);
    const char* const kind = due.kind == Milestone::Kind::gradients ? "g"
                             : due.of_partner                       ? "p"
                                                                    : "w";
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", kind, due.part);
  }
  return text;
}

double at_full_speed(double, double) { return 0; }

// Returns how many seconds a pass of 4 s that starts at time 10 waits for parts of its weights,
// given the times at which the parts arrive.
double waited(const std::vector<double>& arrivals) {
  return execution::walk_compute(
             Milestones(0, static_cast<std::uint32_t>(arrivals.size())), 10, 4,
             [](std::uint32_t, double) {},
             [&](const Milestone& due, bool, double) { return arrivals[due.part]; }, at_full_speed)
      .waited;
}

}  // namespace

TEST_CASE("weights are needed when parts begin and gradients are complete when parts end",
          "[milestones]") {
  CHECK(order({0, 0}).empty());
  CHECK(order({2, 0}) == "g0 g1");
  CHECK(order({0, 3}) == "w0 w1 w2");
  CHECK(order({2, 2}) == "w0 g0 w1 g1");
  CHECK(order({3, 2}) == "w0 g0 w1 g1 g2");
  CHECK(order({1, 2, 4}) == "w0 p0 p1 w1 p2 p3 g0");
}

TEST_CASE("a pass ends with the last part that delays it", "[milestones]") {
  CHECK(waited({}) == 0);
  CHECK(waited({9, 10, 10, 10}) == 0);
  CHECK(waited({12, 12, 12, 12}) == 2);
  CHECK(waited({9, 11, 12, 13}) == 0);
  CHECK(waited({9, 13, 13, 13}) == 2);
  CHECK(waited({12, 13, 14, 15}) == 2);
  // The pass ends 4 s after its start, or later if a part arrives late: at its arrival plus the
  // work that depends on it.
  const std::vector<double> arrivals{11, 14, 14.5, 20};
  double end = 14;
  for (std::size_t i = 0; i < arrivals.size(); ++i)
    end = std::max(end, arrivals[i] + 4 - static_cast<double>(i));
  CHECK(waited(arrivals) == Approx(end - 14));
}

TEST_CASE("gradients are complete later where weights arrive late", "[milestones]") {
  std::vector<double> completions;
  execution::walk_compute(
      Milestones(4, 2), 0, 4, [&](std::uint32_t, double time) { completions.push_back(time); },
      [](const Milestone& due, bool is_last, double) {
        CHECK(is_last == (due.part == 1));
        return due.part == 0 ? 0.0 : 5.0;
      },
      at_full_speed);
  CHECK(completions == std::vector<double>{1, 2, 6, 7});
}

TEST_CASE("gradients are complete later where compute is slow", "[milestones]") {
  std::vector<double> completions;
  const execution::Delays delays = execution::walk_compute(
      Milestones(2, 0), 0, 4, [&](std::uint32_t, double time) { completions.push_back(time); },
      [](const Milestone&, bool, double) { return 0.0; },
      [](double, double work) { return work / 2; });
  CHECK(completions == std::vector<double>{3, 6});
  CHECK(delays.lost == 2);
  CHECK(delays.waited == 0);
}
