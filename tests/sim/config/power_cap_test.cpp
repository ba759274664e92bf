#include "sim/config/power_cap.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace pipewright;

TEST_CASE("a power cap lowers the clock of products and attention", "[gpu]") {
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  const double compute = gpu.power->compute;
  const double idle = gpu.power->idle;
  const config::Gpu capped = config::with_power_cap(gpu, {idle + (compute - idle) / 2, {}});
  const double ratio = std::pow(0.5, 1 / 2.5);
  CHECK(capped.clock.products == Approx(gpu.clock.products * ratio));
  CHECK(capped.clock.attention == Approx(gpu.clock.attention * ratio));
  CHECK(capped.clock.memory == gpu.clock.memory);
  CHECK(capped.power->compute == Approx((compute + idle) / 2));
  CHECK(capped.power->idle == idle);
  // Data types with a clock of their own follow, too.
  const config::Gpu blackwell = config::find_gpu("b200");
  REQUIRE(blackwell.products.fp8->clock);
  const double cap = blackwell.power->idle + (blackwell.power->compute - blackwell.power->idle) / 2;
  CHECK(*config::with_power_cap(blackwell, {cap, {}}).products.fp8->clock ==
        Approx(*blackwell.products.fp8->clock * ratio));
}

TEST_CASE("a power cap above the GPU's power changes nothing", "[gpu]") {
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  CHECK(config::with_power_cap(gpu, {gpu.power->compute, {}}) == gpu);
  CHECK(config::with_power_cap(gpu, {10 * gpu.power->compute, {}}) == gpu);
}

TEST_CASE("a power cap needs power above idle", "[gpu]") {
  config::Gpu gpu = config::find_gpu("h100-sxm");
  CHECK_THROWS_WITH(config::with_power_cap(gpu, {gpu.power->idle, {}}),
                    Catch::Contains("of an idle h100-sxm; allowed: more than"));
  gpu.power.reset();
  CHECK_THROWS_WITH(config::with_power_cap(gpu, {500, {}}),
                    Catch::Contains("needs the power of 'h100-sxm'"));
}
