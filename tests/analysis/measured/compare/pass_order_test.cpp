#include "analysis/measured/compare/pass_order.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/measured/compare/run_figures.hpp"
#include "tests/analysis/report/runs.hpp"

using namespace pipewright;
using namespace pipewright::analysis;
using trace::PassKind;

namespace {

PassOrder order() { return order_of(figures_of(test::two_device_run(), "a").passes, 2); }

}  // namespace

TEST_CASE("the order of a run's passes follows their starts", "[compare]") {
  const PassOrder order_of_run = order();
  REQUIRE(order_of_run.size() == 2);
  CHECK(order_of_run[1] == std::vector<PassKey>{{0, 0, 1, PassKind::forward},
                                                {0, 0, 1, PassKind::backward},
                                                {0, 1, 1, PassKind::forward},
                                                {0, 1, 1, PassKind::backward}});
  CHECK(compare_orders(order_of_run, order_of_run).is_same());
}

TEST_CASE("orders that differ report the first difference", "[compare]") {
  PassOrder changed = order();
  std::swap(changed[1][1], changed[1][2]);
  const OrderComparison comparison = compare_orders(order(), changed);
  CHECK_FALSE(comparison.is_same());
  CHECK(comparison.passes == 8);
  REQUIRE(comparison.differences.size() == 1);
  CHECK(comparison.differences[0].device == 1);
  CHECK(comparison.differences[0].position == 1);
  CHECK(comparison.differences[0].displaced == 2);
  CHECK(find_metric(metrics_of(comparison), "displaced")->value == 2);
  CHECK(
      console_text(comparison, "a.h5", "b\n.csv") ==
      "8 passes in a.h5\n"
      "device 1: first difference at pass 2: a.h5 has B of microbatch 0 on stage 1, b\\n.csv has F "
      "of microbatch 1 on stage 1; 2 passes are displaced\n");
  CHECK(nlohmann::json::parse(
            json_text(comparison, "a", "b"))["devices"][0]["other_next"]["kind"] == "F");
}

TEST_CASE("passes on another device and passes of one run are counted", "[compare]") {
  PassOrder changed = order();
  changed[0].push_back(changed[1].back());
  changed[1].pop_back();
  changed[1].push_back({0, 2, 1, PassKind::forward});
  changed[0].erase(changed[0].begin());
  const OrderComparison comparison = compare_orders(order(), changed);
  CHECK(comparison.on_other_device == 1);
  CHECK(comparison.only_first == 1);
  CHECK(comparison.only_second == 1);
  CHECK(comparison.differences.size() == 2);
  const OrderComparison fewer = compare_orders(order(), {order()[0]});
  REQUIRE(fewer.differences.size() == 1);
  CHECK_FALSE(fewer.differences[0].second.has_value());
}
