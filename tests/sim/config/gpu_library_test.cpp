#include <catch2/catch.hpp>

#include "sim/config/gpu.hpp"
#include "sim/config/text/library.hpp"

using namespace pipewright::config;

namespace {

double peak(const Gpu& gpu, DataType type) { return products_of(gpu, type).flops; }

}  // namespace

TEST_CASE("every GPU of the library has its free memory and the speed of its products",
          "[config]") {
  for (const std::string& name : library_names("gpus", ".yaml")) {
    CAPTURE(name);
    const Gpu gpu = find_gpu(name);
    REQUIRE(gpu.free_memory);
    // Some vendors state memory in GB and others in GiB, which differ by 7 %.
    CHECK(static_cast<double>(gpu.capacity()) == Approx(gpu.memory).epsilon(0.1));
    CHECK(peak(gpu, DataType::bf16) == gpu.flops);
    CHECK(peak(gpu, DataType::fp16) == gpu.flops);
    if (gpu.products.tf32) CHECK(gpu.products.tf32->flops == Approx(gpu.flops / 2).epsilon(0.02));
    if (gpu.products.fp8) CHECK(gpu.products.fp8->flops == Approx(2 * gpu.flops).epsilon(0.02));
    const AttentionRates& rates = rates_of(gpu, attention_kernel_of(gpu, {}));
    CHECK(rates.backward <= rates.forward);
  }
}

TEST_CASE("GPUs of the library have the data types of their makers", "[config]") {
  CHECK_THROWS_WITH(products_of(find_gpu("a100-80gb"), DataType::fp8),
                    Catch::Contains("a100-80gb") && Catch::Contains("bf16, fp16, tf32"));
  CHECK_THROWS_AS(products_of(find_gpu("h100-sxm"), DataType::mxfp8), Error);
  CHECK_THROWS_AS(products_of(find_gpu("h200"), DataType::nvfp4), Error);
  CHECK_THROWS_AS(products_of(find_gpu("mi355x"), DataType::nvfp4), Error);
  for (const auto& [name, fp4] : {std::pair{"b200", 2}, {"gb200", 2}, {"b300", 3}, {"gb300", 3}}) {
    const Gpu gpu = find_gpu(name);
    CAPTURE(name);
    CHECK(peak(gpu, DataType::nvfp4) == Approx(fp4 * peak(gpu, DataType::fp8)));
    CHECK(peak(gpu, DataType::mxfp8) == peak(gpu, DataType::fp8));
  }
}

TEST_CASE("the two H100 differ only in memory and power limit", "[config]") {
  const Gpu usual = find_gpu("h100-sxm");
  const Gpu limited = find_gpu("h100-sxm-96gb");
  CHECK(limited.flops == usual.flops);
  CHECK(limited.processors == usual.processors);
  CHECK(limited.capacity() > usual.capacity());
  CHECK(limited.memory_bandwidth < usual.memory_bandwidth);
  CHECK(limited.clock.products <= usual.clock.products);
}
