#include <catch2/catch.hpp>

#include "analysis/web/page.hpp"

namespace pipewright::analysis {
namespace {

using trace::TrafficClass;

// Returns a trace of 8 s with one link of 100 bytes/s and its use.
trace::Trace one_link(std::vector<trace::LinkUseRow> use) {
  trace::Trace trace;
  trace.links = {{0, "a", "wire", 2, 100}};
  trace.link_use = std::move(use);
  return trace;
}

}  // namespace

TEST_CASE("the peak use of a link sums all classes of traffic in its busiest piece of time") {
  const auto totals = link_totals(one_link({{0, TrafficClass::activation, 0, 1, 30, 1, 0.25},
                                            {0, TrafficClass::gradient, 0, 1, 40, 1, 0},
                                            {0, TrafficClass::activation, 1, 2, 60, 1, 0.5}}),
                                  8);
  REQUIRE(totals.size() == 1);
  CHECK(totals[0].bytes[0] == 90);
  CHECK(totals[0].bytes[1] == 40);
  CHECK(totals[0].mean_use == Approx(130.0 / 800));
  REQUIRE(totals[0].peak_use);
  CHECK(*totals[0].peak_use == Approx(0.7));
  CHECK(totals[0].waited_s == Approx(0.75));
}

TEST_CASE("a link without pieces of time has a mean use and no peak use") {
  const auto totals =
      link_totals(one_link({{0, TrafficClass::reduce_gradients, 0, 8, 400, 3, 0}}), 8);
  CHECK(totals[0].mean_use == Approx(0.5));
  CHECK_FALSE(totals[0].peak_use);
}

TEST_CASE("links without use, bandwidth or run time have a use of 0") {
  CHECK(link_totals(one_link({}), 8)[0].mean_use == 0);
  CHECK(link_totals(one_link({{0, TrafficClass::activation, 0, 1, 5, 1, 0}}), 0)[0].mean_use == 0);
  CHECK(link_totals({}, 1).empty());
}

}  // namespace pipewright::analysis
