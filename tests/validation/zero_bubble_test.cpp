#include <cmath>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"
#include "validation/zero_bubble_rows.hpp"

using namespace pipewright;
using schedules::PassKind;

namespace {

using Row = tests::ZeroBubbleRow;

constexpr double half_of_the_fourth_digit = 0.5e-4 + 1e-9;

// From the first start to the last end of any device, or of the device where that is longest.
enum class Cost : std::uint8_t { makespan, longest_span };

double bubble_rate(const char* schedule_name, const Row& row, Cost cost) {
  schedules::Parameters parameters{.devices = row.devices, .microbatches = row.microbatches};
  const auto plan_with = [&](PassKind kind, double time) {
    parameters.device_times.of_stage[static_cast<int>(kind)].assign(row.devices, time);
  };
  plan_with(PassKind::forward, row.forward);
  plan_with(PassKind::input_grad, row.input_grad);
  plan_with(PassKind::weight_grad, row.weight_grad);
  parameters.hop = row.hop;
  parameters.input_grad_releases = tests::input_grad_releases(row.model);
  const auto schedule = schedules::make_schedule(schedule_name, parameters);
  const auto times = tests::uniform_times(schedule, row.forward, row.input_grad, row.weight_grad);
  const auto result = tests::timed(schedule, times, row.hop);
  // All devices are equally busy.
  const double total = cost == Cost::makespan ? result.makespan : row.busy() + result.span_bubble;
  return 1 - row.busy() / total;
}

void check_met(const char* schedule, Cost cost, double Row::*published) {
  for (const Row& row : tests::zero_bubble_rows) {
    CAPTURE(schedule, row.model, row.microbatches);
    CHECK(std::abs(bubble_rate(schedule, row, cost) - row.*published) <= half_of_the_fourth_digit);
  }
}

}  // namespace

TEST_CASE("1F1B's published bubble rates are met to their four digits", "[validation]") {
  check_met("1f1b", Cost::makespan, &Row::one_f_one_b);
}

TEST_CASE("the published bubble rates of ZB-H1 and ZB-H2 are met to their four digits",
          "[validation]") {
  check_met("zb-h1", Cost::makespan, &Row::zb_h1);
  check_met("zb-h2", Cost::longest_span, &Row::zb_h2);  // its optimizer steps are not synchronised
}

TEST_CASE("the greedy plans reach the published bubble rates of ZB-1p and ZB-2p", "[validation]") {
  for (const Row& row : tests::zero_bubble_rows) {
    CAPTURE(row.model, row.microbatches);
    CHECK(bubble_rate("zb-1p", row, Cost::longest_span) <= row.zb_1p + half_of_the_fourth_digit);
    CHECK(bubble_rate("zb-2p", row, Cost::longest_span) <= row.zb_2p + half_of_the_fourth_digit);
  }
}
