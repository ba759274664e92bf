#include "analysis/report/evidence.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using namespace pipewright::analysis;

namespace {

trace::ExpectedError error_of(double low, const std::string& basis) {
  return {.low = low,
          .high = 0.094,
          .nominal = 0.9,
          .median = 0.02,
          .scatter = 0.03,
          .basis = basis,
          .rows = 63};
}

}  // namespace

TEST_CASE("assumed numbers are listed once for each GPU file", "[assumed]") {
  CHECK(assumed_lines({}).empty());
  CHECK(assumed_lines({{}, {"h100-sxm", {}}}).empty());
  CHECK(assumed_lines({{"b200", {"flops"}}}) ==
        "values of b200 that are assumed, not sourced: flops\n");
  CHECK(assumed_lines({{"b200", {"flops"}}, {"l40s", {"clock"}}, {"b200", {"clock", "flops"}}}) ==
        "values of b200 that are assumed, not sourced: flops, clock\n"
        "values of l40s that are assumed, not sourced: clock\n");
  CHECK(assumed_lines({{"a\nb", {"flops"}}}).find("a\\nb") != std::string::npos);
}

TEST_CASE("the text of an expected error has its range, its share and its basis", "[assumed]") {
  CHECK(expected_error_text({}).empty());
  CHECK(expected_error_text(error_of(-0.041, "h100-sxm, bf16, dense, megatron-core")) ==
        "expected error -4 .. +9 % (90 % of 63 measured runs: h100-sxm, bf16, dense, "
        "megatron-core)");
}

TEST_CASE("equal expected errors have one line", "[assumed]") {
  const trace::Evidence first{"b200", {"flops"}, error_of(-0.04, "b200")};
  const trace::Evidence second{"b200", {}, error_of(-0.04, "b200")};
  const trace::Evidence third{"", {}, error_of(-0.1, "h200")};
  CHECK(expected_error_lines({first, second, third, {}}) ==
        "expected error -4 .. +9 % (90 % of 63 measured runs: b200)\n"
        "expected error -10 .. +9 % (90 % of 63 measured runs: h200)\n");
  CHECK(evidence_lines({first}) == expected_error_lines({first}) + assumed_lines({first}));
}
