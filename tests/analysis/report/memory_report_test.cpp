#include <catch2/catch.hpp>

#include "analysis/report/summary_report.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using analysis::over_capacity_text;
using analysis::Summary;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using trace::MemoryCategory;

namespace {

constexpr std::uint64_t gib = 1ULL << 30;

// Returns the summary of a run in which device 0 has the given memory capacity, 4 GiB of weights
// throughout, and activations of 3 GiB from 1 s on, 5 GiB from 5 s on and 2 GiB from 8 s on.
Summary run_on(std::uint64_t capacity) {
  trace::Trace trace = test::two_device_run();
  trace.devices[0].memory_capacity = capacity;
  trace.memory = {{0, MemoryCategory::weights, 0, 4 * gib},
                  {0, MemoryCategory::activations, 1, 3 * gib},
                  {0, MemoryCategory::activations, 5, 5 * gib},
                  {0, MemoryCategory::activations, 8, 2 * gib},
                  {1, MemoryCategory::weights, 0, 2 * gib}};
  return analysis::summarize(trace);
}

}  // namespace

TEST_CASE("overflow starts when memory first exceeds the capacity, before the peak", "[memory]") {
  const Summary run = run_on(6 * gib);
  CHECK(run.devices[0].peak_time_s == 5);
  CHECK(run.devices[0].over_since_s == 1);
  CHECK_FALSE(fits(run));
  CHECK_THAT(over_capacity_text(run, "1f1b"),
             Equals("1f1b does not fit: device 0 (left) peaks at 9.0 GiB at 5.00 s, 3.0 GiB over "
                    "its 6.0 GiB, from 1.00 s on: weights 4.0 GiB, activations 5.0 GiB"));
}

TEST_CASE("an overflow by weights and state alone is reported as such", "[memory]") {
  const Summary run = run_on(3 * gib);
  CHECK(run.devices[0].over_since_s == 0);
  CHECK_THAT(over_capacity_text(run, "1f1b"),
             Contains(" over its 3.0 GiB, from 0 s on, with weights and state alone: "));
}

TEST_CASE("memory up to the capacity, or of unknown capacity, fits", "[memory]") {
  for (const std::uint64_t capacity : {std::uint64_t{0}, 9 * gib}) {
    const Summary run = run_on(capacity);
    CHECK(fits(run));
    CHECK_FALSE(run.devices[0].over_since_s.has_value());
    CHECK(over_capacity_text(run, "1f1b").empty());
  }
  CHECK_FALSE(fits(run_on(9 * gib - 1)));
}

TEST_CASE("an overflow names the host of the smallest GPU if it is another host", "[memory]") {
  Summary run = run_on(6 * gib);
  run.devices[0].memory_host = "node-1\n";
  CHECK_THAT(over_capacity_text(run, "1f1b"),
             Contains("device 0 (left) peaks at 9.0 GiB at 5.00 s, 3.0 GiB over the 6.0 GiB of "
                      "node-1\\n, from"));
}

TEST_CASE("a table shows the memory components of each device at its peak", "[memory]") {
  CHECK(analysis::component_table(run_on(0)) ==
        R"(                     weights  activations   sum
at its peak, device      GiB          GiB   GiB
0                       4.00         5.00  9.00
1                       2.00            0  2.00
)");
}
