#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/plan/planner.hpp"
#include "tests/sim/config/support.hpp"

// Tests of the slowdown of compute beside collectives, whose kernels occupy processors.

using namespace pipewright;
using config::test::error_of;
using schedules::PassKind;
using workload::Kernel;

namespace {

// Returns how much longer a kernel takes on 116 processors than on all 132, on a GPU that starts
// kernels without delay.
double ratio(const Kernel& kernel) {
  config::Gpu gpu = config::find_gpu("h100-sxm");
  gpu.kernel_overhead = 0;
  gpu.products.bf16->overhead = 0;
  REQUIRE(gpu.processors == 132);
  return kernel_time(kernel, with_processors(gpu, 116)).seconds / kernel_time(kernel, gpu).seconds;
}

workload::StageCosts costs(const std::string& keys) {
  const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
      "{gpu: h100-sxm, devices: 2, microbatches: 8, " + keys + "}", "s.yaml"));
  const workload::Gpus gpus(scenario.model ? 2 : 0, *scenario.gpu);
  return workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
}

const std::vector<double>& slowdown(const workload::StageCosts& costs, PassKind kind) {
  return costs.overlap_slowdown[static_cast<std::size_t>(kind)];
}

const std::string model = "model: llama-3-8b, parallel: {dp: 2}, ";
const std::string times =
    "forward_times: 1, backward_times: 2, parallel: {dp: 2}, state: {gradients: 1 GB}, ";

}  // namespace

TEST_CASE("a kernel slows down by the processors that it would have used", "[overlap]") {
  constexpr double large = 1 << 17;
  CHECK(ratio({.work = Kernel::Work::product, .rows = large, .columns = large, .inner = large}) ==
        Approx(132.0 / 116).epsilon(0.01));
  // A product with a single tile uses only one processor, so fewer processors do not matter.
  CHECK(ratio({.work = Kernel::Work::product, .rows = 128, .columns = 128, .inner = 512}) ==
        Approx(1).epsilon(1e-9));
  CHECK(ratio({.work = Kernel::Work::attention, .flops = 1e15, .keys = 1e6}) ==
        Approx(132.0 / 116).epsilon(1e-9));
  CHECK(ratio({.work = Kernel::Work::memory, .bytes = 1e9}) == 1);
}

TEST_CASE("the passes of a model slow down like their kernels", "[overlap]") {
  const workload::StageCosts sixteen = costs(model);
  const workload::StageCosts four = costs(model + "communication: {sms: 4}, ");
  const workload::StageCosts none = costs(model + "communication: {sms: 0}, ");
  for (const auto kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
    for (const std::size_t stage : {0, 1}) {
      CAPTURE(stage, static_cast<int>(kind));
      CHECK(slowdown(none, kind).at(stage) == 1);
      // Four processors may be idle in the last wave of tiles anyway, so taking them need not slow
      // anything down.
      CHECK(slowdown(four, kind).at(stage) >= 1);
      CHECK(slowdown(four, kind).at(stage) < slowdown(sixteen, kind).at(stage));
      CHECK(slowdown(sixteen, kind).at(stage) < 1.25);
    }
  // Norms and residuals move bytes in F and I; W consists of products and an overhead.
  CHECK(slowdown(sixteen, PassKind::weight_grad)[1] > slowdown(sixteen, PassKind::forward)[1]);
}

TEST_CASE("times without kernels slow down in proportion to the processors", "[overlap]") {
  for (const auto kind : {PassKind::forward, PassKind::backward})
    CHECK(slowdown(costs(times), kind) == std::vector{132.0 / 116, 132.0 / 116});
  CHECK(slowdown(costs(times + "communication: {sms: 32}, "), PassKind::forward)[0] == 132.0 / 100);
}

TEST_CASE("collectives cannot take more processors than there are", "[overlap]") {
  for (const std::string& keys : {model, times})
    CHECK_THAT(error_of([&] { costs(keys + "communication: {sms: 132}"); }),
               Catch::EndsWith("communication.sms is 132, but the GPU has 132 SMs; allowed: 0 "
                               "to 131"));
}
