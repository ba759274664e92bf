#include "analysis/report/evidence.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using namespace pipewright::analysis;

TEST_CASE("assumed numbers are listed once for each GPU file", "[assumed]") {
  CHECK(assumed_lines({}).empty());
  CHECK(assumed_lines({{}, {"h100-sxm", {}}}).empty());
  CHECK(assumed_lines({{"b200", {"flops"}}}) ==
        "~ depends on values of b200 that are assumed, not sourced: flops\n");
  CHECK(assumed_lines({{"b200", {"flops"}}, {"l40s", {"clock"}}, {"b200", {"clock", "flops"}}}) ==
        "~ depends on values of b200 that are assumed, not sourced: flops, clock\n"
        "~ depends on values of l40s that are assumed, not sourced: clock\n");
  CHECK(assumed_lines({{"a\nb", {"flops"}}}).find("a\\nb") != std::string::npos);
  CHECK(assumed_note({}).empty());
  CHECK(assumed_note({{"b200", {"flops", "clock"}}, {"l40s", {"clock"}}}) ==
        "b200: flops and clock are assumed, not sourced; l40s: clock is assumed, not sourced");
}

TEST_CASE("free memory affects no time", "[assumed]") {
  const trace::Evidence both{"mine", {"free_memory", "flops"}};
  const trace::Evidence memory{"mine", {"free_memory"}};
  CHECK(times_rest_on(both));
  CHECK(capacity_rests_on(both));
  CHECK(!times_rest_on(memory));
  CHECK(capacity_rests_on(memory));
  CHECK(time_mark(both) == "~");
  CHECK(time_mark(memory).empty());
  CHECK(!times_rest_on({}));
}
